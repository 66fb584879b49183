// From text to token ids: corpora, WordPiece vocabularies and their training, Tokenizer, and Encoder,
// which makes model inputs.
#pragma once

#include "text/corpus.h"
#include "text/utf8.h"
#include "tokens/encoder.h"
#include "tokens/tokenizer.h"
#include "tokens/vocab_trainer.h"
#include "tokens/vocabulary.h"
#include "tokens/word_counts.h"
