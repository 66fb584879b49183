# tf_checkpoint_check.py DIRECTORY PREFIX: TensorFlow finds the latest checkpoint of a directory and reads
# from it what it reads from another prefix, bit for bit.
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

latest = tf.train.latest_checkpoint(sys.argv[1])
assert latest is not None, "no latest checkpoint"
ours, theirs = tf.train.load_checkpoint(latest), tf.train.load_checkpoint(sys.argv[2])
shapes = theirs.get_variable_to_shape_map()
assert ours.get_variable_to_shape_map() == shapes
assert ours.get_variable_to_dtype_map() == theirs.get_variable_to_dtype_map()
for name in shapes:
    a, b = ours.get_tensor(name), theirs.get_tensor(name)
    assert (a if isinstance(a, bytes) else a.tobytes()) == (b if isinstance(b, bytes) else b.tobytes()), name
print(len(shapes), "tensors")
