"""Known data sets: the files that hold them, and what shows that a file holds the right one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One file of a data set, or one part of it."""

    path: str
    """Relative to the folder of all data sets."""
    shape: tuple[int, int]
    counts: dict[int, int]
    """Number of samples of some classes; together with the shape it identifies the data set."""
    content: str
    """What the file holds and where it comes from, for error messages."""


DOCUMENTS: dict[str, Source] = {
    "movie_reviews": Source(
        "text/movie_review_polarity",
        (2000, 38885),
        {0: 1000, 1: 1000},
        "Polarity data set 2.0 of Pang and Lee (2004), counts of words",
    ),
    "20newsgroups": Source(
        "text/20news_nohdr",
        (18846, 58375),
        {},
        "20 Newsgroups by date (scikit-learn's fetch_20newsgroups), headers removed",
    ),
    "rcv1_ccat": Source(
        "text/rcv1_subsets_ccat",
        (27613, 47236),
        {1: 12473},
        "RCV1-v2 (scikit-learn's fetch_rcv1), documents with the label CCAT or without",
    ),
}

_MNIST_CONTENT = (
    "MNIST of LeCun, Cortes and Burges as arrays of bytes X_train, y_train, X_test, y_test (scikit-learn's "
    "fetch_openml('mnist_784') has all 70 000 digits, the last 10 000 of them for testing)"
)
_MNIST = {
    "train": Source(
        "mnist.npz",
        (60000, 784),
        {0: 5923, 1: 6742, 2: 5958, 3: 6131, 4: 5842, 5: 5421, 6: 5918, 7: 6265, 8: 5851, 9: 5949},
        _MNIST_CONTENT,
    ),
    "test": Source(
        "mnist.npz",
        (10000, 784),
        {0: 980, 1: 1135, 2: 1032, 3: 1010, 4: 982, 5: 892, 6: 958, 7: 1028, 8: 974, 9: 1009},
        _MNIST_CONTENT,
    ),
}

_RARE = {
    name: Source(f"rare/{name}.npz", shape, {1: rare}, content)
    for name, shape, rare, content in (
        ("abalone_19", (4177, 10), 32, "Abalone of the UCI repository, 19 rings against the rest"),
        ("abalone_7", (4177, 10), 391, "Abalone of the UCI repository, 7 rings against the rest"),
        ("coil_2000", (9822, 85), 586, "CoIL Challenge 2000 (KDD archive, UCI repository), both files"),
        ("ecoli", (336, 7), 35, "Ecoli of the UCI repository, imU against the rest"),
        ("libras_move", (360, 90), 24, "Libras movement of the UCI repository, class 1 against the rest"),
        ("mammography", (11183, 6), 260, "Mammography of Woods and others (1993), microcalcifications"),
        ("oil", (937, 49), 41, "Oil spills of Kubat, Holte and Matwin (1998)"),
        ("page_blocks0", (5472, 10), 559, "Page blocks as in KEEL (page-blocks0), all but text against text"),
        ("scene", (2407, 294), 177, "Scene of LIBSVM's data page, scenes with more than one label"),
        ("sick_euthyroid", (3163, 42), 293, "Sick euthyroid of the UCI repository, nominal features as indicators"),
        ("solar_flare_m0", (1389, 32), 68, "Solar flares of the UCI repository, any M class flare, as indicators"),
        (
            "thyroid_sick",
            (3772, 52),
            231,
            "Thyroid disease (sick) of the UCI repository, nominal features as indicators",
        ),
        ("vowel0", (988, 10), 90, "Vowel as in KEEL (vowel0), the first vowel against the rest"),
        ("yeast_me2", (1484, 8), 51, "Yeast of the UCI repository, ME2 against the rest"),
    )
}

_ORDINAL = {
    "car_evaluation": Source(
        "ordinal/car_evaluation.npz",
        (1728, 21),
        {0: 1210, 1: 384, 2: 69, 3: 65},
        "Car evaluation of the UCI repository, features as indicators, levels from unacceptable (0) to very good (3)",
    ),
    "wine_red": Source(
        "ordinal/wine_red.npz",
        (1599, 11),
        {3: 10, 4: 53, 5: 681, 6: 638, 7: 199, 8: 18},
        "Wine quality (red) of the UCI repository, levels from 3 to 8",
    ),
}

_KDD_CONTENT = (
    "KDD Cup 1999 as arrays X_train, y_train, X_test, y_test: the 10 % training file and the corrected test file, "
    "protocol, service and flag (columns 1 to 3) as numbers, y from 0 (normal) over 1 (dos), 2 (probe) and 3 (r2l) to "
    "4 (u2r)"
)
_KDD = {
    "train": Source(
        "large/kddcup99_10pct.npz", (494021, 41), {0: 97278, 1: 391458, 2: 4107, 3: 1126, 4: 52}, _KDD_CONTENT
    ),
    "test": Source("large/kddcup99_10pct.npz", (311029, 41), {}, _KDD_CONTENT),
}
_UCI = {
    name: Source(f"uci/{name}.npz", shape, {0: zeros, 1: ones}, f"{title} of the UCI repository, arrays X and y")
    for name, title, shape, zeros, ones in (
        ("sonar", "Connectionist bench (sonar)", (208, 60), 97, 111),
        ("ionosphere", "Ionosphere", (351, 34), 126, 225),
        ("saheart", "South African heart disease", (462, 9), 302, 160),
        ("wdbc", "Breast cancer Wisconsin (diagnostic)", (569, 30), 357, 212),
        ("australian", "Statlog (Australian credit approval)", (690, 14), 383, 307),
        ("german_numeric24", "Statlog (German credit data), 24 numbers a row,", (1000, 24), 700, 300),
    )
}
_MADELON_CONTENT = (
    "Madelon of the NIPS 2003 challenge, arrays X_train, y_train and, of its validation rows, X_test, y_test"
)
_MADELON = {
    "train": Source("uci/madelon.npz", (2000, 500), {0: 1000, 1: 1000}, _MADELON_CONTENT),
    "test": Source("uci/madelon.npz", (600, 500), {0: 300, 1: 300}, _MADELON_CONTENT),
}
SPLIT_ARRAYS: dict[str, dict[str, Source]] = {"mnist": _MNIST, "kddcup99_10pct": _KDD, "madelon": _MADELON}
ARRAYS: dict[str, Source] = {**_RARE, **_ORDINAL, **_UCI}
