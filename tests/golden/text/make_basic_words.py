"""Writes basic_words.jsonl: random texts, mostly of difficult code points, and the words that BERT's
basic tokenisation makes of them.

  python make_basic_words.py > basic_words.jsonl      (Python 3.11: Unicode 14; tokenizers 0.22.2)

electra_*: written here from the rules of the authors' code (clean, ideographs, lower, NFD without Mn,
punctuation), on Python's str and unicodedata. hf_*: Hugging Face's BertNormalizer and
BertPreTokenizer. Code points that Unicode 15 added are left out, as Python 3.11 does not know them.
"""
import json
import random
import sys
import unicodedata as u

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

IDEOGRAPHS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
              (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
UNICODE_15 = [(0x0CF3, 0x0CF3), (0x0ECE, 0x0ECE), (0x10EFD, 0x10EFF), (0x1123F, 0x11241),
              (0x11B00, 0x11B09), (0x11F00, 0x11F59), (0x1342F, 0x13455), (0x1B132, 0x1B132),
              (0x1B155, 0x1B155), (0x1D2C0, 0x1D2D3), (0x1DF25, 0x1DF2A), (0x1E030, 0x1E08F),
              (0x1E4D0, 0x1E4F9), (0x1F6DC, 0x1F6DC), (0x1F774, 0x1F776), (0x1F77B, 0x1F77F),
              (0x1F7D9, 0x1F7D9), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA88), (0x1FAAD, 0x1FAAF),
              (0x1FABB, 0x1FABD), (0x1FABF, 0x1FABF), (0x1FACE, 0x1FACF), (0x1FADA, 0x1FADB),
              (0x1FAE8, 0x1FAE8), (0x1FAF7, 0x1FAF8), (0x2B739, 0x2B739),
              (0x31350, 0x323AF)]


def within(c, ranges):
    return any(a <= ord(c) <= b for a, b in ranges)


def is_punctuation(c):
    n = ord(c)
    ascii_sign = 33 <= n <= 47 or 58 <= n <= 64 or 91 <= n <= 96 or 123 <= n <= 126
    return ascii_sign or u.category(c).startswith("P")


def clean(text):
    out = ""
    for c in text:
        if c in " \t\n\r" or u.category(c) == "Zs":
            out += " "
        elif ord(c) not in (0, 0xFFFD) and not u.category(c).startswith("C"):
            out += f" {c} " if within(c, IDEOGRAPHS) else c
    return out


def electra(text, lower, strip):
    words = []
    for word in clean(text).split():
        if lower:
            word = word.lower()
        if strip:
            word = "".join(c for c in u.normalize("NFD", word) if u.category(c) != "Mn")
        start_new = True
        for c in word:
            if is_punctuation(c):
                words.append(c)
                start_new = True
            elif start_new:
                words.append(c)
                start_new = False
            else:
                words[-1] += c
    return words


def hugging_face(text, lower, strip):
    normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=strip,
                                lowercase=lower)
    return [w for w, _ in BertPreTokenizer().pre_tokenize_str(normalizer.normalize_str(text))]


def texts(count):
    rng = random.Random(20240601)
    known = [c for c in map(chr, range(0x110000))
             if not 0xD800 <= ord(c) < 0xE000 and not within(c, UNICODE_15)]
    assigned = [c for c in known if u.category(c) not in ("Cn", "Co")]
    marks = [c for c in assigned if u.combining(c) or u.category(c).startswith("M")]
    pools = ["abcXYZ .,!#[]", "가나다ㅋ" + u.normalize("NFD", "각"), assigned, known, marks, marks,
             [c for c in assigned if c.lower() != c],
             [c for c in assigned if u.category(c)[0] in "PSZC"],
             [chr(c) for c in range(0x300, 0x370)], "ΣσAb.'Σ ", "漢字\uf900\ufa30\U0002f800",
             [chr(c) for c in range(0x1D150, 0x1D180)], "\u302e\u302f\u1b44\u094d\u034fa "]
    for _ in range(count):
        chosen = rng.sample(pools, rng.randint(1, 4))
        yield "".join(rng.choice(rng.choice(chosen)) for _ in range(rng.randint(0, 16)))


def main():
    for text in texts(400):
        row = {"text": text}
        for name, lower, strip in (("cased", False, False), ("lower", True, True),
                                   ("keep", True, False)):
            row["electra_" + name] = " ".join(electra(text, lower, strip))
            row["hf_" + name] = " ".join(hugging_face(text, lower, strip))
        for key in list(row):
            if key.startswith("hf_") and row[key] == row["electra_" + key[3:]]:
                del row[key]
        json.dump(row, sys.stdout, ensure_ascii=True)
        print()


if __name__ == "__main__":
    main()
