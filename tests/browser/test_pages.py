"""Pages about one's own data in a browser: tables and sliders work, and nothing is asked of a network.

They need Chromium with its driver (Debian: chromium, chromium-driver) and selenium, and are skipped without them.
"""

import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import rarefy
from rarefy.pages.demo import run_study
from rarefy.pages.demo_page import write_page
from rarefy.pages.html import write_html
from rarefy.pages.selection import ChosenColumns, selection_values
from rarefy.papers.claims import Claim, Table
from rarefy.papers.page import write_results
from rarefy.ranking import RankRC, RankRCCV
from rarefy.selection import BestSubsetSelector

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium or chromedriver is not installed")

BAD = '</script><script>document.title = "broken"</script>'
EMOJI = "🧬 <b>bold</b> & 'quotes'"


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    for option in ("--disable-background-networking", "--disable-sync", "--no-first-run"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page about 450 columns of which 8 are kept, and one about 30 rare cases of 300."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 450))
    X[:, :8] += 2.5 * y[:, None]
    X[:, 10] = X[:, 0] + 0.4 * rng.standard_normal(60)  # a twin that is worth less, and is dropped
    names = [f"gene_{j}" for j in range(450)]
    names[0], names[1], names[10] = "age_months", BAD, "age_days"
    names[2] = EMOJI
    selector = BestSubsetSelector(8, C=0.01).fit(X, y)
    chosen = ChosenColumns(
        X, y, names, selector.selection_order_, selector, selector.certificate_, BAD, target=EMOJI, commands=("rarefy",)
    )
    write_html(folder / "selection.html", "selection.html", **selection_values(chosen))
    rare = np.where(np.arange(300) % 10 == 0, BAD, "fine")
    Z = rng.standard_normal((300, 3)) + 1.5 * (rare == BAD)[:, None]
    ranker = RankRC(random_state=0, rare_class=BAD, threshold={"recall": 0.6, "confidence": 0.9})
    search = RankRCCV(ranker, alphas=[1e-3], cv=3).fit(Z, rare)
    rarefy.report(search, Z, rare, path=folder / "ranking.html")
    write_page(run_study(30, shape=(30, 1500)), folder / "demo.html")
    return SimpleNamespace(
        demo=folder / "demo.html",
        table=_table_of_a_paper(folder),
        selection=folder / "selection.html",
        ranking=folder / "ranking.html",
        selector=selector,
        r=float(np.corrcoef(X[:, 0], X[:, 10])[0, 1]),
        names=names,
        is_rare=rare == BAD,
        scores=search.held_out_scores_,
        threshold=search.threshold_,
    )


def _table_of_a_paper(folder):
    show = {"rows": "method", "columns": ["data"], "metrics": ["error"]}
    claims = (Claim(EMOJI, {"method": BAD}, "error", BAD, expected=0.2),)
    table = Table("id", "Errors", "source", None, {}, {}, claims, note=BAD, show=show)
    results = [({"method": BAD, "data": f"set {k}"}, {"error": 0.1 * k}) for k in range(5)]
    return write_results(table, "quick", results, table.judge(results), folder)


def opened(browser, path, *, width=1100, scheme="light"):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(path.as_uri())
    return browser


def find(page, name):
    return page.find_element(By.ID, name)


def first_cells(page):
    """Names of the columns that the table shows."""
    return [cell.text for cell in page.find_elements(By.CSS_SELECTOR, "#columns-body th")]


def cells(page, key):
    return [cell.text for cell in page.find_elements(By.CSS_SELECTOR, f"#columns-body .c-{key}")]


def header(page, key):
    return page.find_element(By.CSS_SELECTOR, f"#columns th[data-key={key}]")


def search_for(page, text):
    field = find(page, "columns-search")
    field.clear()
    field.send_keys(text)


def overwrite(field, value):
    field.send_keys(Keys.CONTROL + "a")  # in one call the modifier would stay pressed
    field.send_keys(str(value))


def colours(page):
    """Of the ground, of text and of the text in pictures."""
    script = (
        "const s = getComputedStyle(document.querySelector(arguments[0])); return [s.color, s.fill, s.backgroundColor]"
    )
    body, text = (page.execute_script(script, name) for name in ("body", "figure svg text"))
    return [_brightness(value) for value in (body[2], body[0], text[1])]


def test_no_picture_has_a_ground_or_a_line_of_the_other_scheme(browser, pages):
    page = opened(browser, pages.table, scheme="dark")
    script = """return Array.from(document.querySelectorAll("figure svg path, figure svg use")).map(e => {
        const s = getComputedStyle(e); return s.stroke === "none" ? s.fill : s.stroke })"""
    drawn = [_brightness(colour) for colour in page.execute_script(script) if colour != "none"]
    assert len(drawn) > 5
    assert min(drawn) > 60


def _brightness(colour):
    return sum(map(float, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize("name", ["selection", "ranking", "demo", "table"])
def test_nothing_is_asked_of_a_network_and_nothing_fails(browser, pages, name):
    page = opened(browser, getattr(pages, name))
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.get_log("browser") == []
    assert page.title != "broken"


@pytest.mark.parametrize("name", ["selection", "ranking", "demo", "table"])
@pytest.mark.parametrize("width", [320, 400, 1100])
def test_the_page_is_no_wider_than_the_screen(browser, pages, name, width):
    page = opened(browser, getattr(pages, name), width=width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    texts = page.execute_script(
        "return Array.from(document.querySelectorAll('figure svg text')).map(t => t.getBoundingClientRect().height)"
    )
    assert min(texts) > 9, "text in pictures can be read"


def test_the_table_fits_on_paper(browser, pages):
    page = opened(browser, pages.selection, width=700)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert page.execute_script("return document.documentElement.scrollWidth") <= 700
    assert not find(page, "columns-search").is_displayed()
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert all(part.get_attribute("open") for part in page.find_elements(By.TAG_NAME, "details"))


@pytest.mark.parametrize("name", ["selection", "ranking", "demo", "table"])
def test_light_and_dark(browser, pages, name):
    ground, ink, drawn = colours(opened(browser, getattr(pages, name)))
    assert ground > 200 > 120 > max(ink, drawn)
    ground, ink, drawn = colours(opened(browser, getattr(pages, name), scheme="dark"))
    assert ground < 60 < 150 < min(ink, drawn)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert colours(browser)[0] > 200


def test_names_are_shown_as_they_are(browser, pages):
    page = opened(browser, pages.selection)
    for name in (BAD, EMOJI):
        search_for(page, name)
        assert first_cells(page) == [name]
    assert page.title != "broken"
    assert page.find_elements(By.CSS_SELECTOR, "#columns b") == []


def test_kept_columns_come_first_the_most_important_on_top(browser, pages):
    page = opened(browser, pages.selection)
    order = [pages.names[j] for j in pages.selector.selection_order_]
    assert first_cells(page)[: len(order)] == order
    assert header(page, "kept").get_attribute("aria-sort") == "ascending"


def test_sorting_by_a_header_and_back(browser, pages):
    page = opened(browser, pages.selection)
    button = header(page, "relation").find_element(By.TAG_NAME, "button")
    button.click()
    assert header(page, "relation").get_attribute("aria-sort") == "descending"
    assert header(page, "kept").get_attribute("aria-sort") == "none"
    sizes = [abs(float(text.replace("\u2212", "-"))) for text in cells(page, "relation")]
    assert sizes == sorted(sizes, reverse=True)
    button.send_keys(Keys.ENTER)
    assert header(page, "relation").get_attribute("aria-sort") == "ascending"
    sizes = [abs(float(text.replace("\u2212", "-"))) for text in cells(page, "relation")]
    assert sizes == sorted(sizes)
    header(page, "name").find_element(By.TAG_NAME, "button").click()
    assert first_cells(page)[0] == BAD
    header(page, "weight").find_element(By.TAG_NAME, "button").click()
    header(page, "weight").find_element(By.TAG_NAME, "button").click()
    assert "" not in cells(page, "weight")[:8], "what has no weight stays last"


def test_searching_filtering_and_paging(browser, pages):
    page = opened(browser, pages.selection)
    assert len(first_cells(page)) == 200
    assert find(page, "columns-shown").text == "Columns 1 to 200 of 450"
    assert not find(page, "columns-back").is_enabled()
    for _ in range(2):
        find(page, "columns-on").click()
    assert find(page, "columns-shown").text == "Columns 401 to 450 of 450"
    assert not find(page, "columns-on").is_enabled()
    search_for(page, "AGE_")
    assert sorted(first_cells(page)) == ["age_days", "age_months"]
    assert find(page, "columns-shown").text == "Columns 1 to 2 of 2 that match"
    search_for(page, "no such column")
    assert find(page, "columns-shown").text == "Nothing matches."
    assert find(page, "columns-shown").get_attribute("aria-live") == "polite"
    overwrite(find(page, "columns-search"), Keys.BACKSPACE)
    Select(find(page, "columns-kept")).select_by_visible_text("kept")
    assert set(first_cells(page)) == {pages.names[j] for j in pages.selector.selection_order_}
    status = pages.selector.certificate_.column_status
    kept = pages.selector.support_
    for word, proved in (("in every best choice", "in every best set"), ("in none", "in none"), ("open", "open")):
        Select(find(page, "columns-status")).select_by_visible_text(word)
        assert len(first_cells(page)) == np.sum(kept & (status == proved))


def test_twins_are_named_on_both_sides(browser, pages):
    page = opened(browser, pages.selection)
    search_for(page, "age_days")
    assert cells(page, "kept") == ["dropped"]
    assert cells(page, "twin") == [f"r = {pages.r:.2f} with age_months, which is kept"]
    search_for(page, "age_months")
    assert cells(page, "twin") == [f"r = {pages.r:.2f} with age_days, which is dropped"]


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(browser, pages):
    for path, wanted in (
        (pages.selection, {"columns-search", "columns-kept", "columns-status", "columns-on"}),
        (pages.ranking, {"budget", "budget-percent", "budget-reset"}),
    ):
        page, reached, outlines = opened(browser, path), set(), set()
        for _ in range(40):
            page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
            name, outline = page.execute_script(
                "const e = document.activeElement; return [e.id, getComputedStyle(e).outlineStyle]"
            )
            if name in wanted:
                reached.add(name)
                outlines.add(outline)
        assert reached == wanted
        assert outlines == {"solid"}
    unnamed = browser.execute_script(
        "return Array.from(document.querySelectorAll('input, select')).filter(e => !e.labels.length).length"
    )
    assert unnamed == 0


def test_the_certificate_unfolds_and_is_there_to_download(browser, pages):
    page = opened(browser, pages.selection)
    details = page.find_elements(By.TAG_NAME, "details")[-1]
    details.find_element(By.TAG_NAME, "summary").click()
    assert "no choice of 8 is below" in details.text
    link = page.find_element(By.CSS_SELECTOR, "a[download]")
    script = "return JSON.parse(atob(arguments[0].href.split(',')[1])).n_features"
    assert page.execute_script(script, link) == 450


def counted(pages, share):
    """What looking at the highest scores finds; scores of this example are all different."""
    k = int(share * len(pages.scores) + 1e-6)
    top = np.argsort(-pages.scores)[:k]
    found = int(pages.is_rare[top].sum())
    return [found, int(pages.is_rare.sum()) - found, k - found, int(np.sum(~pages.is_rare)) - k + found]


def table_of(page):
    return [int(find(page, f"budget-{name}").text) for name in ("found", "missed", "false", "left")]


def test_the_slider_counts_what_a_budget_finds(browser, pages):
    page = opened(browser, pages.ranking)
    start = np.mean(pages.scores > pages.threshold)
    assert table_of(page) == counted(pages, start)
    field = find(page, "budget-percent")
    for percent in (10, 0, 100, 1):
        overwrite(field, percent)
        found, missed, wrong, left = counted(pages, percent / 100)
        assert table_of(page) == [found, missed, wrong, left]
        said = find(page, "budget-said").text
        assert f"Finds {found} of {found + missed} rare cases" in said
        if found:
            assert f"one in {(found + wrong) / found:.1f} alarms is right" in said
    slider = find(page, "budget")
    before = float(field.get_attribute("value"))
    slider.send_keys(*[Keys.ARROW_RIGHT] * 30)
    share = float(field.get_attribute("value")) / 100
    assert share > before / 100
    assert sum(table_of(page)[::2]) <= share * 300 + 0.5
    assert slider.get_attribute("aria-valuetext").endswith("% of rows")
    assert find(page, "budget-said").get_attribute("aria-live") == "polite"
    slider.send_keys(Keys.HOME)
    assert "no row is looked at" in find(page, "budget-said").text
    find(page, "budget-reset").click()
    assert table_of(page) == counted(pages, start)
    assert page.get_log("browser") == []


def test_the_budget_moves_along_both_curves(browser, pages):
    page = opened(browser, pages.ranking)
    field = find(page, "budget-percent")
    overwrite(field, 20)
    found, missed, wrong, left = counted(pages, 0.2)
    for name, at in (
        ("roc-marker", (wrong / (wrong + left), found / (found + missed))),
        ("precision-marker", (found / (found + missed), found / (found + wrong))),
    ):
        dot = find(page, name)
        x0, y0, x1, y1 = map(float, dot.get_attribute("data-box").split())
        assert float(dot.get_attribute("cx")) == pytest.approx(x0 + at[0] * (x1 - x0), abs=0.1)
        assert float(dot.get_attribute("cy")) == pytest.approx(y0 + at[1] * (y1 - y0), abs=0.1)
        assert dot.get_attribute("visibility") == "visible"


def test_without_scripts_the_numbers_are_still_there(browser, pages):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(pages.selection.as_uri())
        text = browser.find_element(By.TAG_NAME, "body").get_attribute("innerText")
        assert all(pages.names[j] in text for j in pages.selector.selection_order_ if pages.names[j].startswith("gene"))
        browser.get(pages.ranking.as_uri())
        start = np.mean(pages.scores > pages.threshold)
        assert table_of(browser) == counted(pages, start)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
