#include "models/electra.h"

#include "base/crc32c.h"

namespace headwater {
namespace {

constexpr double kTiny = 1e-6;  // keeps a mean over nothing finite

// sum(values * weights) / (total + tiny); the total is the sum of the weights unless it is given.
Value weighted_mean(Value values, Value weights, Value given_total) {
  const Value total = given_total.valid() ? given_total : sum_all(weights);
  return div(sum_all(mul(values, weights)), add(total, constant_like(total, kTiny)));
}

// Loss, predictions and samples of the generator at the slots.
VocabCrossEntropy predict_slots(const Scope& network, Value hidden, Value slots,
                                const ElectraInputs& inputs, Value word_table,
                                const ElectraConfig& config, const ElectraObjective& objective,
                                const ForwardContext& context) {
  const Value at_slots = gather_rows(hidden, slots);  // [B N, H]
  const MaskedLmHead head = electra_masked_lm_head(network, word_table, config);
  const Value targets = reshape(inputs.masked_lm_ids, {slots.dim(0)});
  return vocab_cross_entropy(head.transform(at_slots), head.table, head.bias, targets, context.key,
                             {.temperature = objective.temperature,
                              .disallow_correct = objective.disallow_correct,
                              .sample = objective.electra_objective && !inputs.sampled_ids.valid(),
                              .site = network.site("samples")});
}

// input_ids with the samples written in. A position with c samples gets the floor of their mean;
// position 0 ([CLS], and where unused slots point) keeps its token.
Value write_samples(const ElectraInputs& inputs, Value slots, Value samples) {
  const int64_t tokens = inputs.input_ids.type().size();
  const auto per_token = [&](Value values) {
    const Value rows = scatter_add_rows(slots, reshape(values, {slots.dim(0), 1}), tokens);
    return reshape(rows, inputs.input_ids.shape());
  };
  const Value sum = per_token(samples);
  const Value count = per_token(constant_like(samples, 1));
  const Value mean = div(sum, maximum(count, constant_like(count, 1)));
  const Value position = iota(inputs.input_ids.graph(), DType::kI32, inputs.input_ids.shape(), 1);
  const Value zero = constant_like(position, 0);
  const Value hit = bit_and(compare(count, zero, Direction::kGreater),
                            compare(position, zero, Direction::kGreater));
  return select(hit, mean, inputs.input_ids);
}

// One pass of an encoder over ids: [B T, H].
Value run_encoder(const Scope& network, const EmbeddingTables& tables, Value ids,
                  const ElectraInputs& inputs, const ElectraConfig& config,
                  const ForwardContext& context) {
  const Scope electra = network / "electra";
  const EncoderConfig sizes = encoder_config(config);
  const TokenInputs tokens{ids, inputs.input_mask, inputs.segment_ids, {}, {}};
  const Value x = embed(tables, tokens, electra / "embeddings", sizes, context);
  return encode(electra, x, visibility_of(tokens, context), sizes, context);
}

// Each network draws its own dropout bits, also when both are one encoder.
ForwardContext with_key_of(std::string_view network, ForwardContext context) {
  context.key = fold_in(context.key, crc32c(network));
  return context;
}

}  // namespace

ElectraOutputs build_electra(ParameterTree& tree, const ElectraConfig& discriminator,
                             const ElectraConfig& generator, const ElectraObjective& objective,
                             const ElectraInputs& inputs, const ForwardContext& context,
                             bool with_discriminator) {
  const bool one_encoder = !objective.electra_objective || !objective.untied_generator;
  const Scope disc_scope = Scope(tree) / "discriminator", gen_scope = Scope(tree) / "generator";
  const Scope disc_tables = disc_scope / "electra" / "embeddings";
  const EmbeddingTables tables = embedding_tables(disc_tables, encoder_config(discriminator));

  EmbeddingTables gen_tables = tables;
  const Scope gen_table_scope = gen_scope / "electra" / "embeddings";
  if (!one_encoder && objective.untied_generator_embeddings) {
    gen_tables = embedding_tables(gen_table_scope, encoder_config(generator));
  } else if (!one_encoder) {
    alias_embedding_tables(gen_table_scope, disc_tables);
  }
  const ForwardContext gen_context = with_key_of("generator", context);
  const Value gen_hidden = run_encoder(one_encoder ? disc_scope : gen_scope, gen_tables,
                                       inputs.masked_input_ids, inputs, generator, gen_context);
  const Value slots = flat_positions(inputs.masked_lm_positions, context);
  const VocabCrossEntropy mlm = predict_slots(gen_scope, gen_hidden, slots, inputs, gen_tables.word,
                                              generator, objective, gen_context);
  ElectraOutputs out;
  out.mlm_slot_loss = mlm.loss;
  out.mlm_predictions = mlm.prediction;
  out.samples = inputs.sampled_ids.valid() ? inputs.sampled_ids : mlm.sample;
  out.mlm_loss = weighted_mean(mlm.loss, reshape(inputs.masked_lm_weights, mlm.loss.shape()),
                               inputs.mlm_weight_total);
  out.total_loss = mul(out.mlm_loss, constant_like(out.mlm_loss, objective.gen_weight));
  if (!objective.electra_objective || !with_discriminator) return out;

  out.fake_ids = write_samples(inputs, slots, stop_gradient(out.samples));
  out.is_fake = convert(compare(out.fake_ids, inputs.input_ids, Direction::kNotEqual), DType::kI32);
  const ForwardContext disc_context = with_key_of("discriminator", context);
  const Value disc_hidden = run_encoder(one_encoder ? disc_scope.shared() : disc_scope, tables,
                                        out.fake_ids, inputs, discriminator, disc_context);
  out.disc_logits =
      electra_discriminator_logits(disc_scope, disc_hidden, discriminator, disc_context);
  out.disc_loss =
      weighted_mean(sigmoid_cross_entropy(out.disc_logits, convert(out.is_fake, DType::kF32)),
                    convert(inputs.input_mask, DType::kF32), inputs.disc_weight_total);
  out.total_loss =
      add(out.total_loss, mul(out.disc_loss, constant_like(out.disc_loss, objective.disc_weight)));
  return out;
}

}  // namespace headwater
