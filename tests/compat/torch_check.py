# torch_check.py OURS THEIRS: PyTorch loads both, safely, mapped and not, and sees the same tensors.
import sys

import torch

for mapped in (False, True):
    ours = torch.load(sys.argv[1], weights_only=True, mmap=mapped)
    theirs = torch.load(sys.argv[2], weights_only=True)
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    for name, tensor in theirs.items():
        a, b = ours[name], tensor.detach()
        assert a.dtype == b.dtype and a.shape == b.shape, name
        assert a.contiguous().view(-1).view(torch.uint8).equal(b.contiguous().view(-1).view(torch.uint8)), name
    embeddings, head = "electra.embeddings.word_embeddings.weight", "generator_lm_head.weight"
    assert ours[embeddings].data_ptr() == ours[head].data_ptr(), "the tie is lost"
print(len(theirs), "tensors")
