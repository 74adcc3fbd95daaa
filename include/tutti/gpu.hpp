// Device memory. TUTTI_GPU says whether the library was built with it; availability() says what this host has.
#pragma once

#include <tutti/detail/build.hpp>
#include <tutti/gpu/availability.hpp>
#if TUTTI_GPU
#include <tutti/gpu/communicator.hpp>
#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/device.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/device_code.hpp>
#include <tutti/gpu/device_span.hpp>
#include <tutti/gpu/event.hpp>
#include <tutti/gpu/operation.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/gpu/reducer.hpp>
#include <tutti/gpu/stream.hpp>
#endif
