"""Messages of the library in the words of a command line: options instead of parameters, the table instead of X.

Only phrases of our own are replaced, never single words: names of columns and files are in messages, too.
"""

import re

_PHRASES = (
    (r"Select more features, or set rank\.", "Keep more of them with --keep."),
    (r"Choose more features or a smaller rank\.", "Keep more of them with --keep."),
    (r"Select fewer, or set past_rank='stop'\.", "Keep fewer with --keep."),
    (r"Set n_features_to_select to (\d+) or less(?:, or past_rank='continue')?\.", r"Give --keep a number up to \1."),
    (r"set n_features_to_select to a number", "give --keep a number"),
    (r"asked for: X has only (\d+) columns\.", r"asked for: the table has only \1 columns."),
    (r"\by has one class\b", "the target has one class"),
    (r"how X was read(?: or preprocessed)?", "how the table was written"),
    (r"^\w+Selector: (\d+) features\b", r"\1 columns"),
    (r"\bother (\d+) features follows\b", r"other \1 columns follows"),
    (r"\bof the (\d+) features that were asked for\b", r"of the \1 columns that were asked for"),
    (r"^(?:BestSubset|BSS|LeverageScore|RRQR)Selector\b:? ", "The selection "),
    (r"^RankRC(?:CV)?\b:? ", "The ranking "),
    (r"^SubspaceLPSVC\b:? ", "The classifier "),
    (r" states no target: name one of its columns, ", " states no target: name one of its columns with --target, "),
    (r"Read a sample of its rows \(sample=n\)", "Read a sample of its rows (--sample)"),
)


def in_words_of_commands(text: str) -> str:
    """A message as a person who typed a command can use it."""
    for phrase, words in _PHRASES:
        text = re.sub(phrase, words, text)
    return text
