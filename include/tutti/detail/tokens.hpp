// What the headers without Asio know of completion tokens: who serves them, and what to say where nobody does.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// How an Asio completion token is served, and the two ways to tell its handler; defined in <tutti/detail/completion.hpp>.
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

/// By its name, since the headers of Asio may not be there.
template <class Type>
consteval bool is_of_asio() {
    return std::string_view(__PRETTY_FUNCTION__).find("Type = boost::asio::") != std::string_view::npos;
}

/// What would be a token if <tutti/asio.hpp> were included: something of Asio's, or a function that takes what a handler is told.
template <class Token, class... Told>
concept unserved_token = !has_asio_header<Token> && (is_of_asio<std::remove_cvref_t<Token>>() || std::invocable<Token, Told...>);

template <class Token>
void ask_for_asio_header() {
    static_assert(has_asio_header<Token>,
                  "include <tutti/asio.hpp>: without it this takes no completion token, and no boost::asio::awaitable can await it");
}

}  // namespace detail
}  // namespace tutti
