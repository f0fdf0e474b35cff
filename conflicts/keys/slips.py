"""Slips: what a hasty writer makes of a known word by one wrong key; not every word that is one letter away."""

from memories.language.word_lists import listed

# The keys around each, on an English and a German keyboard; letters that sound alike; vowels.
NEIGHBOURS = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuz", "u": "yij", "i": "uok", "o": "ipl",
    "p": "ol", "a": "qsz", "s": "awdxz", "d": "sefcx", "f": "drgvc", "g": "fthbv", "h": "gyjnb", "j": "hukmn",
    "k": "jilm", "l": "kop", "z": "asxy", "x": "zsdc", "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
}  # fmt: skip
# Words that are one letter away from a known name.
WORDS = listed("use used uses suer ussr called culled tender fender vender thee pone hone")
LONG = 7  # letters of a word that is known without its last
ALIKE = ("aeiouy", "gj", "ckqs", "sz", "vw", "dt", "bp")


def is_slip(written: str, word: str) -> bool:
    """Return whether a word was meant: with two letters exchanged, or one doubled, left out, put in or mistaken.

    Its first letter is mistaken for a key beside only, and its last for none and left out only where it is silent, for
    these tell words apart: an employee is no employer, a licensee no license.
    """
    if written == word or written in WORDS or abs(len(written) - len(word)) > 1:
        return False
    start = 0
    while start < min(len(written), len(word)) and written[start] == word[start]:
        start += 1
    end = 0
    while end < min(len(written), len(word)) - start and written[-1 - end] == word[-1 - end]:
        end += 1
    there, meant = written[start : len(written) - end], word[start : len(word) - end]
    if len(there) == len(meant) == 2:
        return there == meant[::-1]
    if len(there) > 1 or len(meant) > 1:
        return False
    if there and meant:
        return end > 0 and (
            meant in NEIGHBOURS.get(there, "") or start > 0 and any({there, meant} <= set(s) for s in ALIKE)
        )
    if not start:
        return False
    if there:
        return end > 0 or there == word[-1] != "e"
    return end > 0 or (meant == "e" and len(word) >= LONG)
