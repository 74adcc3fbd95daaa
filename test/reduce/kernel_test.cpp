#include "reduce/kernel.hpp"
#include <doctest/doctest.h>
TEST_CASE("x"){ float a[37],b[37]; for(int i=0;i<37;++i) a[i]=b[i]=float(i); tutti::combine(tutti::sum, tutti::data_type::f32,a,a,b,37); MESSAGE(tutti::kernel_target()); CHECK(a[36]==72); }
