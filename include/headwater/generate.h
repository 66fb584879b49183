// Generation: TextModel opens a checkpoint with its tokenizer, generate_text() continues a prompt. Generator decodes with
// weights in any StateStore, those of a training run among them; sampling.h has the logits processors.
#pragma once

#include "generate/generator.h"
#include "generate/sampling.h"
#include "generate/text.h"
