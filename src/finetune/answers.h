// How right an answer in words is: exact match and F1 of the parts that two answers share, each the
// best over the true answers.
//
//   squad    lower case, without punctuation and the English articles; parts are words (Rajpurkar
//            et al. 2016)
//   korquad  without marks, parts are characters: Korean particles hang on their words (Lim et al.
//            2019)
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headwater {

enum class AnswerRule { kSquad, kKorquad };

struct AnswerScore {
  double exact_match = 0, f1 = 0;
};
// No true answer means that the question has none: right is an empty prediction.
AnswerScore score_answer(std::string_view predicted, std::span<const std::string> truth,
                         AnswerRule rule);
// What is compared: lower case, no punctuation, single blanks.
std::string normalized_answer(std::string_view text, AnswerRule rule);

}  // namespace headwater
