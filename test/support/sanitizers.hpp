// The demands of sanitizers on tests.
#pragma once

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

namespace tutti::test {

/// UndefinedBehaviorSanitizer opens descriptors of its own when it looks at an object, and takes it for an error that it cannot.
inline constexpr bool sanitizer_wants_descriptors = __has_feature(undefined_behavior_sanitizer);

/// With any of them long tables are tried in part: what they look for is in each row alike.
inline constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);

/// ThreadSanitizer finds nothing in a case that has one thread, and takes ten times as long: it is spared those that are long.
inline constexpr bool sanitizer_wants_threads = __has_feature(thread_sanitizer);

}  // namespace tutti::test
