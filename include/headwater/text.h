// From text to token ids: corpora, WordPiece and byte-level BPE vocabularies and their training, the tokenizers, AnyTokenizer,
// which is either of them, and Encoder, which makes model inputs.
#pragma once

#include "text/corpus.h"
#include "text/utf8.h"
#include "tokens/any_tokenizer.h"
#include "tokens/bpe_model.h"
#include "tokens/bpe_tokenizer.h"
#include "tokens/bpe_trainer.h"
#include "tokens/encoder.h"
#include "tokens/tokenizer.h"
#include "tokens/tokenizer_files.h"
#include "tokens/vocab_trainer.h"
#include "tokens/vocabulary.h"
#include "tokens/word_counts.h"
