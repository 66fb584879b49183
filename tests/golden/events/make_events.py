"""Makes the golden event file by TensorBoard's own protocol buffers.

Needs tensorboard:  python make_events.py > events.bin
"""
import struct
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(event):
    payload = event.SerializeToString(deterministic=True)
    length = struct.pack("<Q", len(payload))
    return (length + struct.pack("<I", masked_crc(length)) + payload +
            struct.pack("<I", masked_crc(payload)))


def event(second, **fields):
    return event_pb2.Event(wall_time=1700000000.0 + second, **fields)


def metadata(plugin, data_class):
    return summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin),
        data_class=data_class)


def scalar(second, step, tag, value, first):
    entry = summary_pb2.Summary.Value(
        tag=tag, tensor=tensor_pb2.TensorProto(dtype=1, float_val=[value],
                                               tensor_shape=tensor_shape_pb2.TensorShapeProto()))
    if first:
        entry.metadata.CopyFrom(metadata("scalars", summary_pb2.DATA_CLASS_SCALAR))
    return event(second, step=step, summary=summary_pb2.Summary(value=[entry]))


def text(second, step, tag, value):
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    entry = summary_pb2.Summary.Value(
        tag=tag, metadata=metadata("text", summary_pb2.DATA_CLASS_TENSOR),
        tensor=tensor_pb2.TensorProto(dtype=7, string_val=[value.encode()], tensor_shape=shape))
    return event(second, step=step, summary=summary_pb2.Summary(value=[entry]))


events = [
    event(1, file_version="brain.Event:2"),
    event(2, step=21, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    text(3, 0, "run/options", "`tiny` 설정"),
    scalar(4, 30, "train/masked_lm_loss", 6.5, True),
    scalar(5, 30, "train/disc_loss", 0.40625, True),
    scalar(6, 40, "train/masked_lm_loss", 6.25, False),
    scalar(7, 40, "train/disc_loss", 0.1, False),
]
sys.stdout.buffer.write(b"".join(map(record, events)))
