// Completion tokens in the headers without Asio: the code that serves them, and the message if it is not included.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Serves an Asio completion token, and ends its handler in one of two ways; defined in <tutti/detail/completion.hpp>.
template <class End, class Token>
struct completion;
template <class T>
struct ends_with_exception;
template <class T>
struct ends_with_result;

template <class Token, class End>
concept served_token = requires { typename completion<End, Token>::signature; };

/// Complete where <tutti/asio.hpp> is included.
template <class Token>
struct asio_header;
template <class Token>
inline constexpr bool has_asio_header = requires { sizeof(asio_header<Token>); };

/// Recognizes Asio's types by their names, since Asio's headers may be missing.
template <class Type>
consteval bool is_of_asio() {
    return std::string_view(__PRETTY_FUNCTION__).find("Type = boost::asio::") != std::string_view::npos;
}

/// Is true of types that would be tokens with <tutti/asio.hpp>: a type of Asio's, or a function that takes the arguments of a handler.
template <class Token, class... Told>
concept unserved_token = !has_asio_header<Token> && (is_of_asio<std::remove_cvref_t<Token>>() || std::invocable<Token, Told...>);

template <class Token>
void ask_for_asio_header() {
    static_assert(has_asio_header<Token>,
                  "include <tutti/asio.hpp>: without it this takes no completion token, and no boost::asio::awaitable can await it");
}

}  // namespace detail
}  // namespace tutti
