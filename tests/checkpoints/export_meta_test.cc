// The export's part of a checkpoint's meta: round trip, what may be missing, and damage.
#include "checkpoints/export_meta.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

TEST(ExportMeta, RoundTrips) {
  ExportMeta values;
  values.discriminator.emplace().hidden_size = 64;
  values.generator.emplace().layer_norm_eps = 1e-5;
  values.vocabulary_digest = "abc";
  values.tokenizer.emplace().strip_accents = false;
  values.tokenizer->normalize = "nfc";
  Json meta = {{"seed", 7}};
  put_export_meta(meta, values);
  EXPECT_EQ(meta["seed"], 7);
  const auto back = get_export_meta(dump_json(meta), "checkpoint-1");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->discriminator->hidden_size, 64);
  EXPECT_EQ(back->generator->layer_norm_eps, 1e-5);
  EXPECT_EQ(back->vocabulary_digest, "abc");
  EXPECT_EQ(back->tokenizer->strip_accents, std::optional(false));
  EXPECT_EQ(back->tokenizer->normalize, "nfc");
  // Once more gives the same text: nothing piles up.
  Json again = {{"seed", 7}};
  put_export_meta(again, *back);
  EXPECT_EQ(again["models"]["generator"]["layer_norm_eps"],
            meta["models"]["generator"]["layer_norm_eps"]);
}

TEST(ExportMeta, OneNetworkAndNoTokenizerWillDo) {
  ExportMeta values;
  values.generator.emplace();
  Json meta = Json::object();
  put_export_meta(meta, values);
  const auto back = get_export_meta(dump_json(meta), "checkpoint-1");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_FALSE(back->discriminator);
  EXPECT_TRUE(back->generator);
  EXPECT_FALSE(back->tokenizer);
}

TEST(ExportMeta, RefusesWhatItCannotUse) {
  for (const char* meta : {"{}", "[]", "{\"models\": []}", "{\"models\": {\"generator\": []}}",
                           "{\"models\": {\"generator\": {\"hidden_size\": 8}}}",
                           "{\"models\": {}, \"tokenizer\": []}",
                           "{\"models\": {}, \"tokenizer\": {\"x\": 1}}", "{"}) {
    const auto back = get_export_meta(meta, "checkpoint-1");
    ASSERT_FALSE(back) << meta;
    EXPECT_NE(back.error().to_string().find("checkpoint-1"), std::string::npos);
  }
}

}  // namespace
}  // namespace headwater
