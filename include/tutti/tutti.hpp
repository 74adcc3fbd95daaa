// All of Tutti except Asio completion tokens (asio.hpp), fibers (fiber.hpp) and CUDA devices (gpu.hpp).
#pragma once

#include <tutti/communicator.hpp>
#include <tutti/communicator_store.hpp>
#include <tutti/context.hpp>
#include <tutti/cost_model.hpp>
#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/future.hpp>
#include <tutti/message.hpp>
#include <tutti/persistent.hpp>
#include <tutti/places.hpp>
#include <tutti/reducer.hpp>
#include <tutti/reduction.hpp>
#include <tutti/result.hpp>
#include <tutti/scope.hpp>
#include <tutti/sleep.hpp>
#include <tutti/store.hpp>
#include <tutti/task.hpp>
#include <tutti/types.hpp>
#include <tutti/version.hpp>
#include <tutti/when_all.hpp>
#include <tutti/world.hpp>
