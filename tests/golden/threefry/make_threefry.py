"""Makes threefry.json: random bits of jax.random (its default implementation).

Needs jax:  JAX_PLATFORMS=cpu python make_threefry.py > threefry.json
"""
import json

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
COUNT = 12
keys = []
for seed in [0, 1, 42, 2**31, 2**32 - 1, 2**40 + 3, 2**63 - 1]:
    for path in [[], [0], [7], [2**32 - 1], [12, 345678]]:
        key = jax.random.key(seed)
        for data in path:
            key = jax.random.fold_in(key, np.uint32(data))
        keys.append({
            "seed": seed, "fold_in": path,
            "key": np.asarray(jax.random.key_data(key)).tolist(),
            "bits": np.asarray(jax.random.bits(key, (3, COUNT // 3), dtype=np.uint32)).ravel().tolist(),
            "uniform": np.asarray(jax.random.uniform(key, (COUNT,), dtype=np.float32)).tolist(),
            "bernoulli": np.asarray(jax.random.bernoulli(key, np.float32(0.1), (64,))).astype(int).tolist(),
        })
long_key = jax.random.key(5)
bits = np.asarray(jax.random.bits(long_key, (100000,), dtype=np.uint32))
print(json.dumps({"jax": jax.__version__, "keys": keys,
                  "long": {"seed": 5, "count": len(bits),
                           "sum": int(bits.astype(np.uint64).sum()),
                           "xor": int(np.bitwise_xor.reduce(bits)), "last": int(bits[-1])}}))
