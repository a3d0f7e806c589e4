// A field to find a sentence in, and its neighbours by both parts; #number is the sentence that is shown. On a narrow screen
// tabs show one part at a time.
const { sentences, languages, codes, colours, lines, first, parts } = JSON.parse(document.getElementById("content").textContent);
const LISTED = 100;
const at = (id) => document.getElementById(id);
const [field, list, filter, gloss] = ["search", "options", "language", "gloss"].map(at);
const names = new Intl.DisplayNames(["en"], { type: "language" });
const named = (place) => (codes[place] === "und" ? "an unknown language" : names.of(codes[place]));
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const keys = sentences.map(plain);
const made = (tag, name, ...inside) => {
  const element = document.createElement(tag);
  element.className = name;
  element.append(...inside);
  return element;
};
const badge = (place) => {
  const element = made("span", "language", codes[place]);
  element.title = named(place);
  element.style.setProperty("--language", colours[place]);
  return element;
};
const written = (n) => {
  const element = made("span", "sentence", sentences[n]);
  element.lang = codes[languages[n]];
  element.dir = "auto";
  return element;
};

// The sentence of a line in a language, to read others by.
const ofLine = new Map();
(lines ?? []).forEach((own, n) => own.forEach((line) => ofLine.set(`${line} ${languages[n]}`, n)));
const translates = (n, other) => Boolean(lines) && n !== other && lines[n].some((line) => lines[other].includes(line));
const withGloss = (n) => {
  const both = made("span", "", written(n));
  const other = gloss?.value && String(languages[n]) !== gloss.value ? lines[n].map((line) => ofLine.get(`${line} ${gloss.value}`)).find((one) => one !== undefined) : undefined;
  if (other !== undefined) {
    const element = made("span", "gloss", sentences[other]);
    element.lang = codes[languages[other]];
    element.dir = "auto";
    both.append(element);
  }
  return both;
};

// The neighbours.
const tabs = [...document.querySelectorAll(".tabs button")];
const columns = [...document.querySelectorAll(".columns section")].map((section, part) => {
  const links = parts[part].rows[0].map(() => made("a", ""));
  section.querySelector("ol").append(...links.map((link) => made("li", "", link)));
  return { section, note: section.querySelector(".note"), links };
});
const turn = (chosen) => columns.forEach(({ section }, part) => {
  section.classList.toggle("chosen", part === chosen);
  tabs[part].setAttribute("aria-selected", part === chosen);
  tabs[part].tabIndex = part === chosen ? 0 : -1;
});
const current = () => {
  const number = Number(location.hash.slice(1));
  return Number.isInteger(number) && number >= 1 && number <= sentences.length ? number - 1 : first;
};
const show = () => {
  const n = current(), number = made("a", "", `#${n + 1}`);
  number.href = `#${n + 1}`;
  at("query").replaceChildren(badge(languages[n]), withGloss(n), number);
  columns.forEach(({ note, links }, part) => {
    const near = parts[part].rows[n], cosines = parts[part].cosines[n];
    links.forEach((link, place) => {
      const other = near[place], right = translates(n, other);
      const tick = made("span", "tick", ...(right ? ["✓", made("span", "unseen", "translation")] : []));
      link.href = `#${other + 1}`;
      link.className = right ? "translation" : "";
      link.replaceChildren(badge(languages[other]), withGloss(other), made("span", "cosine", (cosines[place] / 1000).toFixed(3)), tick);
    });
    const own = near.filter((other) => languages[other] === languages[n]).length;
    const right = near.filter((other) => translates(n, other)).length;
    note.textContent = `${near.length} nearest: ${own} in ${named(languages[n])}` + (lines ? `, ${right} translation${right === 1 ? "" : "s"}` : "");
    tabs[part].querySelector("small").textContent = lines ? `${right} of ${near.length} are translations` : `${own} of ${near.length} in its language`;
  });
};

// The field and its list.
let active = -1;
const options = () => [...list.querySelectorAll("[role=option]")];
const close = () => {
  list.hidden = true;
  field.ariaExpanded = "false";
  field.removeAttribute("aria-activedescendant");
};
const activate = (place) => {
  active = place;
  options().forEach((option, own) => option.setAttribute("aria-selected", own === place));
  const option = options()[place];
  if (!option) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
};
const open = () => {
  const typed = plain(field.value.trim()), found = [];
  let count = 0;
  keys.forEach((key, n) => {
    if (!key.includes(typed) || (filter?.value && String(languages[n]) !== filter.value)) return;
    count += 1;
    if (found.length < LISTED) found.push(n);
  });
  const items = found.map((n) => {
    const option = made("li", "", badge(languages[n]), written(n));
    option.id = `option${n + 1}`;
    option.role = "option";
    option.addEventListener("click", () => choose(n));
    return option;
  });
  const rest = made("li", "none", count ? `and ${count - found.length} more: type some letters` : "no sentence of this page has these letters");
  if (count !== found.length || !count) items.push(rest);
  rest.role = "presentation";
  list.replaceChildren(...items);
  list.hidden = false;
  field.ariaExpanded = "true";
  activate(field.value.trim() && count ? 0 : -1);
};
const choose = (n) => {
  field.value = "";
  close();
  location.hash = `#${n + 1}`;
};
field.addEventListener("input", open);
field.addEventListener("click", open);
field.addEventListener("blur", close);
list.addEventListener("mousedown", (event) => event.preventDefault());
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    if (list.hidden) return open();
    const count = options().length;
    activate(active < 0 && step < 0 ? count - 1 : (active + step + count) % count);
  } else if (event.key === "Enter" && !list.hidden) {
    event.preventDefault();
    options()[active]?.click();
  } else if (event.key === "Escape") {
    close();
  }
});
at("another").addEventListener("click", () => {
  const some = sentences.map((_, n) => n).filter((n) => n !== current() && (!filter?.value || String(languages[n]) === filter.value));
  if (some.length) choose(some[Math.floor(Math.random() * some.length)]);
});

// Arrows lead from neighbour to neighbour, and to the other column.
columns.forEach(({ links }, part) => links.forEach((link, place) => link.addEventListener("keydown", (event) => {
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
  const next = columns[part + right]?.links[place + down];
  if (!next || next === link) return;
  event.preventDefault();
  turn(part + right);
  next.focus();
})));
tabs.forEach((tab, part) => {
  tab.addEventListener("click", () => turn(part));
  tab.addEventListener("keydown", (event) => {
    const next = tabs[part + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0)];
    if (!next || next === tab) return;
    event.preventDefault();
    next.click();
    next.focus();
  });
});

codes.forEach((code, place) => {
  const count = languages.filter((own) => own === place).length;
  for (const select of [filter, gloss]) select?.append(new Option(named(place), place));
  at("legend").append(made("span", "", badge(place), `${named(place)}, ${count.toLocaleString("en")}`));
});
if (gloss && codes.includes("en")) gloss.value = codes.indexOf("en");
gloss?.addEventListener("change", show);
addEventListener("hashchange", show);
turn(0);
show();
