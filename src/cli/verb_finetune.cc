// `finetune`: a pre-trained encoder for a downstream task.
#include "cli/verb.h"
#include "finetune/finetune_run.h"

namespace headwater {

Verb make_finetune_verb() {
  return make_verb<FinetuneOptions>(
      {.name = "finetune",
       .summary = "fine-tune an ELECTRA or BERT for a task",
       .description =
           "Trains an encoder with a fresh head for one label, several labels, a number, a tag for "
           "every word, or answers to questions, on tsv, csv, jsonl, CoNLL or SQuAD files. KOTE, "
           "NSMC, 3i4K, the chatbot data, Naver's names and KorQuAD are known with their layouts "
           "and labels.\n\n"
           "Texts of similar length come into one batch. After every epoch the dev split is judged "
           "and the best model kept; the test split is judged once, at the end. Thresholds of "
           "several labels are tuned on the dev split, or fixed, never on the test split. "
           "f1_macro counts a label that is neither true nor predicted as 0, f1_macro_present "
           "leaves it out.\n\n"
           "OUTPUT_DIR/model is an ordinary Hugging Face directory; results.json, "
           "predictions.jsonl and metrics.jsonl tell how it did. --resume goes on as if the run "
           "had never stopped; Ctrl-C or SIGTERM saves a checkpoint first.",
       .examples =
           {{"headwater finetune --task kote --model koelectra-small --train train.tsv "
             "--dev val.tsv --test test.tsv --output-dir kote",
             "44 emotions, decided at 0.3 as their authors do"},
            {"headwater finetune --task nsmc --model koelectra-small --train "
             "ratings_train.txt --dev-fraction 0.05 --test ratings_test.txt --output-dir "
             "nsmc --learning-rate 5e-5 --epochs 5 --warmup-ratio 0.1",
             "film reviews, a part of the training file held out"},
            {"headwater finetune --task single-label --model bert --train pairs.csv --dev "
             "dev.csv --text-column premise --pair-column hypothesis --label-column gold "
             "--output-dir nli",
             "pairs of sentences"},
            {"headwater finetune --task ner --model bert --train train.conll --dev dev.conll "
             "--output-dir names --layerwise-lr-decay 0.8",
             "a tag for every word"}},
       .exit_notes = "130, 143  stopped by Ctrl-C or SIGTERM after a final checkpoint"},
      run_finetuning);
}

}  // namespace headwater
