// How often this thread has called operator new; every test of this program counts with it.
#pragma once

long allocations() noexcept;
