// As ../../src/base/precompiled.hpp, for tests. Nothing of ours: a test's names must not meet those of floors it does not know.
#pragma once

#include "../../src/base/precompiled.hpp"

#include <doctest/doctest.h>
