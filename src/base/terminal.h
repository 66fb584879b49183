// What a terminal needs to know of a text: how many columns it takes, and where to cut it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headwater {

// Columns of the terminal behind a file descriptor; 0 when it is none.
int64_t terminal_columns(int fd);

// Columns that UTF-8 text takes: Hangul, Han, Kana, full-width forms and emoji take two, combining
// marks none. Other bytes count one.
int64_t display_width(std::string_view text);

// The text, cut to `columns` with "..." at the end when it takes more.
std::string fit_columns(std::string_view text, int64_t columns);

}  // namespace headwater
