"""Writes char_classes.json: what each dialect makes of every single code point.

  python make_char_classes.py > char_classes.json     (Python 3.11: Unicode 14; tokenizers 0.22.2)

Classes are lists of [first, last]; what lower case and accent stripping make of a code point is a
digest per block of 4,096. "electra" leaves out what Unicode 15 added (see make_basic_words.py).
"""
import hashlib
import json
import sys
import unicodedata as u

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from make_basic_words import IDEOGRAPHS, UNICODE_15, is_punctuation, within


def ranges(code_points):
    out = []
    for c in code_points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def electra(c):
    if c in " \t\n\r" or u.category(c) == "Zs" or c in "\u2028\u2029":
        return "space", c, c
    if ord(c) in (0, 0xFFFD) or u.category(c).startswith("C"):
        return "dropped", "", ""
    kind = ("ideograph" if within(c, IDEOGRAPHS) else
            "punctuation" if is_punctuation(c) else "word")
    fold = "".join(x for x in u.normalize("NFD", c.lower()) if u.category(x) != "Mn")
    return kind, c.lower(), fold


CLEAN = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
LOWER = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=True)
FOLD = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=True)
SPLIT = BertPreTokenizer()


def hugging_face(c):
    cleaned = CLEAN.normalize_str("a" + c + "b")[1:-1]
    if cleaned == "" or cleaned == " ":
        return ("space" if cleaned else "dropped"), c, c
    kind = ("ideograph" if len(cleaned) == 3 else
            "punctuation" if len(SPLIT.pre_tokenize_str("a" + c + "b")) == 3 else "word")
    return kind, LOWER.normalize_str("a" + c + "b")[1:-1], FOLD.normalize_str("a" + c + "b")[1:-1]


def describe(classify, left_out):
    kinds = {"space": [], "dropped": [], "ideograph": [], "punctuation": []}
    digests = {"lower": [], "fold": []}
    for block in range(0, 0x110000, 0x1000):
        texts = {"lower": "", "fold": ""}
        for n in range(block, block + 0x1000):
            c = chr(n)
            if 0xD800 <= n < 0xE000 or within(c, left_out):
                continue
            kind, lower, fold = classify(c)
            if kind in kinds:
                kinds[kind].append(n)
            if kind in ("word", "punctuation", "ideograph"):
                texts["lower"] += lower + "\n"
                texts["fold"] += fold + "\n"
        for name, text in texts.items():
            digests[name].append(hashlib.sha256(text.encode()).hexdigest()[:16])
    return {**{k: ranges(v) for k, v in kinds.items()}, **digests}


if __name__ == "__main__":
    json.dump({"unicode_15": UNICODE_15, "electra": describe(electra, UNICODE_15),
               "hf": describe(hugging_face, [])}, sys.stdout, separators=(",", ":"))
    print()
