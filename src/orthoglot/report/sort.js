// Click a heading to sort its table by that column; numbers first the greatest.
const value = (row, i) => {
  const text = row.cells[i].firstChild?.textContent.trim().replace(/[,<\s]/g, "") ?? "";
  const number = text === "–" ? -Infinity : parseFloat(text);
  return Number.isNaN(number) ? text : number;
};
const compare = (a, b) => typeof a === "number" && typeof b === "number" ? b - a : String(a).localeCompare(b);
for (const head of document.querySelectorAll("th")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], i = head.cellIndex, sign = head.dataset.sorted === "1" ? -1 : 1;
  for (const other of head.parentNode.cells) delete other.dataset.sorted;
  head.dataset.sorted = sign;
  body.append(...[...body.rows].sort((a, b) => sign * compare(value(a, i), value(b, i))));
});
