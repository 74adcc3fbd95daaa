// As ../../src/precompiled.hpp, for tests.
#pragma once

#include "../../src/precompiled.hpp"

#include <tutti/tutti.hpp>

#include <doctest/doctest.h>
