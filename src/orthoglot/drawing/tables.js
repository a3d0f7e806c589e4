// Headings become buttons that sort by their column; long tables get a field that filters their rows.
const LONG = 8;
const own = (cell) => [...cell.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent).join("").trim();
const value = (row, i) => {
  const text = own(row.cells[i]).replace(/[,<\s]/g, ""), number = parseFloat(text);
  return text === "–" || text === "" ? null : Number.isNaN(number) ? text : number;
};
const compare = (a, b) => typeof a === "number" && typeof b === "number" ? b - a : String(a).localeCompare(String(b));
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...[...table.tHead.rows].at(-1).cells];
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.ariaSort === "descending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = sign === 1 ? "descending" : "ascending";
      body.append(...[...body.rows].sort((a, b) => {
        const [one, two] = [value(a, i), value(b, i)];
        return one === null || two === null ? (one === null) - (two === null) : sign * compare(one, two);
      }));
    });
  });
  if (body.rows.length <= LONG) continue;
  const label = document.createElement("label"), field = document.createElement("input"), count = document.createElement("output");
  field.type = "search";
  field.placeholder = "words in a row";
  label.className = "filter";
  label.append("Filter ", field, " ", count);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    const left = [...body.rows].filter((row) => !row.hidden).length;
    count.value = field.value.trim() ? `${left} of ${body.rows.length} rows` : "";
  });
  table.parentNode.before(label);
}
