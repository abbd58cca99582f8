"use strict";
(function () {
  const PAGE = 200;
  const STATUS = { e: "in every best choice", n: "in none", o: "open" };
  const ORDER = { e: 0, o: 1, n: 2 };
  const data = JSON.parse(document.getElementById("columns-data").textContent);
  const place = new Map(data.kept.map((column, i) => [column, i]));
  const find = (id) => document.getElementById(id);
  const body = find("columns-body"), heads = Array.from(document.querySelectorAll("#columns th[data-key]"));
  const keys = heads.map((head) => head.dataset.key);
  const folded = data.names.map((name) => name.toLowerCase());
  let sorted = "kept", up = true, first = 0, found = [];

  // What rows are sorted by; undefined stands last, whichever way they are sorted.
  const VALUE = {
    name: (i) => folded[i],
    kept: (i) => place.get(i),
    weight: (i) => (place.has(i) ? Math.abs(data.weight[place.get(i)]) : undefined),
    status: (i) => ORDER[data.status[i]],
    count: (i) => data.count[i],
    relation: (i) => Math.abs(data.relation[i]),
    twin: (i) => (data.twin[i] < 0 ? undefined : Math.abs(data.r[i])),
  };
  // Further columns that say yes or nothing.
  const marks = Object.fromEntries(Object.entries(data.marks).map(([key, members]) => [key, new Set(members)]));
  for (const key in marks) VALUE[key] = (i) => (marks[key].has(i) ? 0 : undefined);
  const DESCENDING = ["weight", "count", "relation", "twin"];

  // A minus sign instead of a hyphen, and as many digits in every row.
  function number(value, digits) {
    const usual = value !== 0 && Math.abs(value) >= 0.001 && Math.abs(value) < 1000;
    const text = digits !== null ? value.toFixed(digits) : usual ? value.toPrecision(3) : String(value);
    return text.replace("-", "\u2212");
  }

  const CELL = {
    kept: (cell, i) => { cell.textContent = place.has(i) ? "kept" : "dropped"; },
    weight: (cell, i) => { cell.textContent = place.has(i) ? number(data.weight[place.get(i)], null) : ""; },
    status: (cell, i) => { cell.textContent = STATUS[data.status[i]]; },
    count: (cell, i) => { cell.textContent = data.count[i]; },
    relation: (cell, i) => { cell.textContent = number(data.relation[i], data.digits); },
    twin: (cell, i) => {
      if (data.twin[i] < 0) return;
      cell.append("r = " + number(data.r[i], 2) + " with ", isolated(data.names[data.twin[i]]),
        place.has(i) ? ", which is dropped" : ", which is kept");
    },
  };

  for (const key in marks) CELL[key] = (cell, i) => { cell.textContent = marks[key].has(i) ? "yes" : ""; };

  function isolated(name) {
    const element = document.createElement("bdi");
    element.textContent = name === "" ? "(no name)" : name;
    return element;
  }

  function row(i) {
    const line = document.createElement("tr");
    if (place.has(i)) line.className = "is-kept";
    for (const key of keys) {
      const cell = document.createElement(key === "name" ? "th" : "td");
      if (key === "name") {
        cell.scope = "row";
        cell.append(isolated(data.names[i]));
      } else {
        CELL[key](cell, i);
      }
      cell.className = "c-" + key;
      line.append(cell);
    }
    return line;
  }

  function compare(a, b) {
    const x = VALUE[sorted](a), y = VALUE[sorted](b);
    if (x === undefined || y === undefined) return x === y ? a - b : x === undefined ? 1 : -1;
    return x === y ? a - b : (x < y ? -1 : 1) * (up ? 1 : -1);
  }

  function show() {
    body.replaceChildren(...found.slice(first, first + PAGE).map(row));
    const last = Math.min(first + PAGE, found.length);
    find("columns-shown").textContent = found.length
      ? `${data.unit} ${first + 1} to ${last} of ${found.length}${found.length < data.names.length ? " that match" : ""}`
      : "Nothing matches.";
    find("columns-back").disabled = first === 0;
    find("columns-on").disabled = last === found.length;
  }

  function select() {
    const text = find("columns-search").value.trim().toLowerCase(), kept = find("columns-kept").value;
    const status = find("columns-status") ? find("columns-status").value : "";
    found = data.names.map((_, i) => i).filter((i) =>
      (!text || folded[i].includes(text)) && (!kept || place.has(i) === (kept === "kept")) &&
      (!status || data.status[i] === status));
    found.sort(compare);
    first = 0;
    for (const head of heads) {
      head.setAttribute("aria-sort", head.dataset.key !== sorted ? "none" : up ? "ascending" : "descending");
    }
    show();
  }

  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const key = head.dataset.key;
      up = sorted === key ? !up : !DESCENDING.includes(key);
      sorted = key;
      select();
    });
  }
  find("columns-search").addEventListener("input", select);
  for (const id of ["columns-kept", "columns-status"]) {
    if (find(id)) find(id).addEventListener("change", select);
  }
  find("columns-back").addEventListener("click", () => { first -= PAGE; show(); });
  find("columns-on").addEventListener("click", () => { first += PAGE; show(); });
  find("columns-part").hidden = false;
  select();
})();
