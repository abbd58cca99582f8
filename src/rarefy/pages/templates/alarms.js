"use strict";
(function () {
  const data = JSON.parse(document.getElementById("budget-data").textContent);
  const find = (id) => document.getElementById(id);
  const sums = (counts) => counts.reduce((all, count) => { all.push(all[all.length - 1] + count); return all; }, [0]);
  const rare = sums(data.rare), others = sums(data.others), last = rare.length - 1;
  const nRare = rare[last], nOthers = others[last], n = nRare + nOthers;
  const slider = find("budget"), percent = find("budget-percent"), said = find("budget-said");
  const first = Number(said.dataset.budget), ENDS = Number(slider.max);

  // Rare cases are few: the slider's steps are even in the logarithm, from one row to all of them; 0 is no row.
  const shareAt = (place) => (place <= 0 ? 0 : Math.pow(n, (place - ENDS) / (ENDS - 1)));
  const placeOf = (share) => (share * n < 1 ? 0 : Math.round(ENDS + ((ENDS - 1) * Math.log(share)) / Math.log(n)));

  // The most steps whose rows are no more than the budget.
  function stepsWithin(share) {
    const most = share * n + 1e-6;
    let low = 0, high = last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (rare[middle] + others[middle] <= most) low = middle; else high = middle - 1;
    }
    return low;
  }

  function move(id, x, y, visible) {
    const dot = find(id);
    const [x0, y0, x1, y1] = dot.dataset.box.split(" ").map(Number);
    dot.setAttribute("cx", x0 + x * (x1 - x0));
    dot.setAttribute("cy", y0 + y * (y1 - y0));
    dot.setAttribute("visibility", visible ? "visible" : "hidden");
  }

  function words(share, step) {
    const found = rare[step], alarms = found + others[step];
    const looked = `${Number((100 * share).toPrecision(3))} % of rows: ${alarms} looked at. `;
    const start = looked + `Finds ${found} of ${nRare} rare cases`;
    if (alarms === 0) return start + ": no row is looked at.";
    if (found === 0) return start + `; none of ${alarms} alarms is right.`;
    return start + `; one in ${(alarms / found).toFixed(1)} alarms is right. Score at least ${data.score[step - 1]}.`;
  }

  function show(share) {
    const step = stepsWithin(share), found = rare[step], wrong = others[step];
    find("budget-found").textContent = found;
    find("budget-missed").textContent = nRare - found;
    find("budget-false").textContent = wrong;
    find("budget-left").textContent = nOthers - wrong;
    said.textContent = words(share, step);
    slider.setAttribute("aria-valuetext", `${Number((100 * share).toPrecision(3))} % of rows`);
    move("roc-marker", wrong / nOthers, found / nRare, true);
    move("precision-marker", found / nRare, found / Math.max(1, found + wrong), step > 0);
  }

  function set(share) {
    slider.value = placeOf(share);
    percent.value = Number((100 * share).toPrecision(4));
    show(share);
  }

  slider.addEventListener("input", () => {
    const share = shareAt(Number(slider.value));
    percent.value = Number((100 * share).toPrecision(3));
    show(share);
  });
  percent.addEventListener("input", () => {
    const share = Math.min(1, Math.max(0, Number(percent.value) / 100));
    slider.value = placeOf(share);
    show(share);
  });
  find("budget-reset").addEventListener("click", () => set(first));
  find("budget-part").hidden = false;
  set(first);
})();
