// Draws the heat map from the table of letters, a part at a time, and filters it. Text goes in as text only.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const letters = byId("letters");
  if (!letters) return;

  const kColumns = 40, kRows = 60;  // drawn at once: more would not fit on a screen
  const tones = new Map(), words = new Map(), advice = new Map();
  for (const row of byId("legend").tBodies[0].rows) {
    const [key, word, , help] = [...row.cells].map((cell) => cell.textContent.trim());
    tones.set(key, row.dataset.tone);
    words.set(key, word);
    advice.set(key, help);
  }
  const images = [...letters.querySelectorAll("tr[data-image]")].map((row) => ({
    id: row.dataset.image,
    name: row.cells[0].textContent,
    count: row.cells[1].textContent,
    cells: row.cells[2].textContent,
  }));
  const columns = [...byId("columns").children].map((item) => {
    const nodes = item.textContent.split(", ");
    return { nodes, text: item.textContent.toLowerCase(),
             label: nodes.length === 1 ? nodes[0] : nodes.length.toLocaleString("en") + " nodes" };
  });
  const total = columns.reduce((sum, column) => sum + column.nodes.length, 0);

  const form = byId("filter"), grid = byId("grid"), shown = byId("shown"), pager = byId("pager"), told = byId("cell");
  const byImage = byId("by-image"), byNode = byId("by-node"), byState = byId("by-state");
  let rowsLeft = images, columnsLeft = columns.map((_, i) => i), firstRow = 0, firstColumn = 0;

  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const isTrouble = (letter) => ["failing", "moving", "optional"].includes(tones.get(letter));
  const fits = (letter, wanted) => wanted === "" || (wanted === "!" ? isTrouble(letter) : letter === wanted);

  // Found on first use: the tables above have them.
  let messages;
  const messageOf = (image, letter) => {
    if (!messages) {
      messages = new Map();
      for (const row of document.querySelectorAll("tr[data-at]")) {
        messages.set(row.dataset.at, row.querySelector(".m").textContent);
      }
    }
    return messages.get(image.id + ":" + letter) || "";
  };

  const tell = (cell) => {
    const image = rowsLeft[cell.dataset.r], column = columns[cell.dataset.c], letter = cell.textContent;
    const names = column.nodes.slice(0, 8).join(", ") +
      (column.nodes.length > 8 ? " and " + (column.nodes.length - 8).toLocaleString("en") + " more" : "");
    told.replaceChildren(make("i", letter, "key " + tones.get(letter)), " ", make("b", words.get(letter)), ": " + image.name +
      " on " + names);
    const message = messageOf(image, letter), help = advice.get(letter);
    if (message) told.append(make("br"), message);
    if (help && !message.endsWith(help)) told.append(make("br"), make("b", "What to do:"), " " + help);
  };

  const headOf = (c) => {
    const column = columns[c];
    const head = make("th", undefined, column.nodes.length > 1 ? "many" : "");
    head.scope = "col";
    head.title = column.nodes.slice(0, 50).join(", ");
    head.append(make("span", column.label));
    return head;
  };

  const drawGrid = () => {
    const table = make("table");
    table.setAttribute("role", "grid");
    table.setAttribute("aria-rowcount", rowsLeft.length + 1);
    table.setAttribute("aria-colcount", columnsLeft.length + 1);
    table.append(make("caption", "Images by node: arrow keys move between cells", "vh"));
    const head = table.createTHead().insertRow();
    const corner = make("th");
    corner.scope = "col";
    corner.append(make("span", "Image", "name"), make("span", "not ready", "count"));
    head.append(corner);
    const some = columnsLeft.slice(firstColumn, firstColumn + kColumns);
    for (const c of some) head.append(headOf(c));
    const body = table.createTBody();
    rowsLeft.slice(firstRow, firstRow + kRows).forEach((image, r) => {
      const row = body.insertRow();
      const name = make("th");
      name.scope = "row";
      name.title = image.name;
      const text = make("span", undefined, "name");
      text.append(make("bdi", image.name));
      name.append(text, make("span", image.count, "count"));
      row.append(name);
      for (const c of some) {
        const cell = make("td", image.cells[c], tones.get(image.cells[c]));
        cell.tabIndex = -1;
        cell.dataset.r = firstRow + r;
        cell.dataset.c = c;
        row.append(cell);
      }
    });
    const first = body.querySelector("td");
    if (first) first.tabIndex = 0;
    grid.replaceChildren(table);
  };

  const steps = (name, first, size, all, go) => {
    if (all <= size) return [];
    const button = (text, label, to, off) => {
      const one = make("button", text);
      one.type = "button";
      one.disabled = off;
      one.setAttribute("aria-label", label);
      one.addEventListener("click", () => { go(to); draw(); pager.querySelector(`[aria-label="${label}"]`).focus(); });
      return one;
    };
    return [button("◂", "Previous " + name, first - size, first === 0),
            make("span", `${name} ${first + 1}–${Math.min(first + size, all)} of ${all.toLocaleString("en")}`),
            button("▸", "Next " + name, first + size, first + size >= all)];
  };

  const draw = () => {
    drawGrid();
    pager.replaceChildren(...steps("columns", firstColumn, kColumns, columnsLeft.length, (to) => { firstColumn = to; }),
                          ...steps("images", firstRow, kRows, rowsLeft.length, (to) => { firstRow = to; }));
    pager.hidden = pager.childElementCount === 0;
    const nodes = columnsLeft.reduce((sum, c) => sum + columns[c].nodes.length, 0);
    shown.textContent = `${rowsLeft.length.toLocaleString("en")} of ${images.length.toLocaleString("en")} images, ` +
      `${nodes.toLocaleString("en")} of ${total.toLocaleString("en")} nodes`;
    told.textContent = rowsLeft.length && columnsLeft.length
      ? "Point at a cell, or move to it with Tab and the arrow keys, to read its reason."
      : "Nothing matches the filter.";
  };

  const filter = () => {
    const image = byImage.value.trim().toLowerCase(), node = byNode.value.trim().toLowerCase(), state = byState.value;
    columnsLeft = columns.map((_, i) => i).filter((c) => columns[c].text.includes(node));
    rowsLeft = images.filter((one) => one.name.toLowerCase().includes(image) &&
      columnsLeft.some((c) => fits(one.cells[c], state)));
    columnsLeft = columnsLeft.filter((c) => rowsLeft.some((one) => fits(one.cells[c], state)));
    firstRow = firstColumn = 0;
    draw();
  };

  const move = (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    const row = cell.parentElement, at = cell.cellIndex, all = [...row.parentElement.rows], r = all.indexOf(row);
    const to = { ArrowLeft: () => row.cells[at - 1], ArrowRight: () => row.cells[at + 1],
                 ArrowUp: () => all[r - 1] && all[r - 1].cells[at], ArrowDown: () => all[r + 1] && all[r + 1].cells[at],
                 Home: () => row.cells[1], End: () => row.cells[row.cells.length - 1] }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = to();
    if (next && next.tagName === "TD") next.focus();
  };

  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.target.tagName !== "INPUT") return;
    event.target.value = "";
    filter();
  });
  grid.addEventListener("keydown", move);
  grid.addEventListener("focusin", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    const before = grid.querySelector("td[tabindex='0']");
    if (before) before.tabIndex = -1;
    cell.tabIndex = 0;
    tell(cell);
  });
  grid.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("td");
    if (cell) tell(cell);
  });
  addEventListener("beforeprint", () => { document.querySelector(".legend").open = true; });
  for (const element of [form, grid, shown, told]) element.hidden = false;
  document.documentElement.classList.add("drawn");
  draw();
})();
