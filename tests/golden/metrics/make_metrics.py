"""Makes metrics.json: metrics of ELECTRA's evaluation and learning rates by TensorFlow's own ops.

Needs TensorFlow 2.x (tf.compat.v1.metrics, polynomial_decay) and NumPy:
  python make_metrics.py > metrics.json
"""
import json

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
BATCHES, B, T, N, V = 3, 4, 16, 5, 50
rng = np.random.default_rng(7)


def batch():
    lengths = rng.integers(6, T + 1, size=B)
    mask = (np.arange(T)[None] < lengths[:, None]).astype(np.int32)
    labels = (rng.random((B, T)) < 0.2).astype(np.int32) * mask
    logits = (rng.normal(size=(B, T)) * 2 + labels * 1.5 - 1).astype(np.float32)
    logits = np.round(logits * 8) / 8  # ties among the scores
    true_ids = rng.integers(5, V, size=(B, N)).astype(np.int32)
    weights = (rng.random((B, N)) < 0.8).astype(np.float32)
    predicted = np.where(rng.random((B, N)) < 0.4, true_ids, rng.integers(5, V, size=(B, N)))
    sampled = np.where(rng.random((B, N)) < 0.3, true_ids, rng.integers(5, V, size=(B, N)))
    losses = np.round(rng.random((B, N)) * 6, 4).astype(np.float32)
    return dict(mask=mask, labels=labels, logits=logits, true_ids=true_ids, weights=weights,
                predicted=predicted.astype(np.int32), sampled=sampled.astype(np.int32),
                losses=losses)


def tf_metrics(batches):
    names = {k: tf.placeholder(v.dtype, v.shape) for k, v in batches[0].items()}
    flat = {k: tf.reshape(v, [-1]) for k, v in names.items()}
    fmask = tf.cast(names["mask"], tf.float32)
    labelsf = tf.cast(names["labels"], tf.float32)
    bce = tf.nn.sigmoid_cross_entropy_with_logits(logits=names["logits"], labels=labelsf) * fmask
    per_example = tf.reduce_sum(bce, -1) / (1e-6 + tf.reduce_sum(fmask, -1))
    preds = tf.cast(names["logits"] > 0, tf.int32)
    m = tf.metrics
    metrics = {
        "masked_lm_accuracy": m.accuracy(flat["true_ids"], flat["predicted"], flat["weights"]),
        "masked_lm_loss": m.mean(flat["losses"], flat["weights"]),
        "sampled_masked_lm_accuracy":
            m.accuracy(flat["true_ids"], flat["sampled"], flat["weights"]),
        "disc_loss": m.mean(per_example),
        "disc_auc": m.auc(names["labels"] * names["mask"],
                          tf.nn.sigmoid(names["logits"]) * fmask),
        "disc_accuracy": m.accuracy(names["labels"], preds, names["mask"]),
        "disc_precision": m.accuracy(names["labels"], preds, preds * names["mask"]),
        "disc_recall": m.accuracy(names["labels"], preds, names["labels"] * names["mask"]),
    }
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for data in batches:
            session.run([u for _, u in metrics.values()], {names[k]: data[k] for k in data})
        return {k: float(session.run(v)) for k, (v, _) in metrics.items()}


def exact_auc(batches):
    score = np.concatenate([b["logits"][b["mask"] == 1] for b in batches]).astype(np.float64)
    label = np.concatenate([b["labels"][b["mask"] == 1] for b in batches])
    p, n = score[label == 1], score[label == 0]
    wins = (p[:, None] > n[None]).sum() + 0.5 * (p[:, None] == n[None]).sum()
    return wins / (len(p) * len(n))


def rates():
    out = []
    for peak, warmup, total, power in [(5e-4, 10, 100, 1.0), (2e-4, 0, 50, 1.0),
                                       (1e-3, 30, 60, 0.5), (1e-3, 7, 20, 2.0)]:
        step = tf.placeholder(tf.int64, [])
        rate = tf.train.polynomial_decay(peak, step, total, end_learning_rate=0.0, power=power,
                                         cycle=False)
        if warmup:
            rate *= tf.minimum(1.0, tf.cast(step, tf.float32) / tf.cast(warmup, tf.float32))
        steps = [0, 1, 5, 7, 19, 20, 49, 50, 60, 99, 100, 150]
        with tf.Session() as session:
            values = [float(session.run(rate, {step: s})) for s in steps]
        out.append(dict(peak=peak, warmup=warmup, total=total, power=power, steps=steps,
                        rates=values))
    return out


batches = [batch() for _ in range(BATCHES)]
print(json.dumps({
    "seq_length": T,
    "batches": [{k: v.reshape(-1).tolist() for k, v in b.items()} for b in batches],
    "expected": tf_metrics(batches),
    "exact_auc": exact_auc(batches),
    "schedules": rates(),
}))
