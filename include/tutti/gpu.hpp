// Memory of devices. Whether this library was built with it is TUTTI_GPU; whether this host has any, availability() says.
#pragma once

#include <tutti/detail/build.hpp>
#include <tutti/gpu/availability.hpp>
