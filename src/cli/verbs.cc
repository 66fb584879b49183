// The list of verbs: the only file that knows them all.
#include "cli/verb.h"

namespace headwater {

#define HW_VERB(factory, heading) Verb factory();
#include "cli/verbs.def"
#undef HW_VERB

const std::vector<Verb>& all_verbs() {
  static const std::vector<Verb> verbs = [] {
    std::vector<Verb> list;
#define HW_VERB(factory, title) \
  list.push_back(factory());    \
  list.back().heading = title;
#include "cli/verbs.def"
#undef HW_VERB
    return list;
  }();
  return verbs;
}

}  // namespace headwater
