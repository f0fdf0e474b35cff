// The keyboard: whatever carries data-key shows its key and answers to it. Off while typing, and by a switch.
const OFF = "keys-off";
const isOff = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };
const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;
const carriers = () => [...document.querySelectorAll("[data-key]")];

function badge(element) {
  if (element.dataset.badged) return;
  element.dataset.badged = "1";
  const kbd = document.createElement("kbd");
  kbd.textContent = element.dataset.key;
  kbd.setAttribute("aria-hidden", "true");
  if (element.matches("input")) element.after(kbd);
  else element.append(kbd);
  element.setAttribute("aria-keyshortcuts", element.dataset.key);
}

function showBadges() {
  carriers().forEach(badge);
  document.querySelectorAll("[data-badged] kbd, [data-badged] + kbd").forEach((kbd) => (kbd.hidden = isOff()));
}

function move(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const here = rows.findIndex((row) => row === document.activeElement);
  const from = here >= 0 ? here : rows.findIndex((row) => row.hasAttribute("aria-current"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, from + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function openSheet(sheet) {
  const list = sheet.querySelector("[data-keys-list]");
  const known = carriers().map((element) => [element.dataset.key, element.getAttribute("aria-label")]);
  list.replaceChildren(
    ...[...known, ["Enter", "Open the focused memory"]].map(([key, label]) => {
      const [row, term, text, kbd] = ["div", "dt", "dd", "kbd"].map((tag) => document.createElement(tag));
      term.textContent = label;
      kbd.textContent = key;
      text.append(kbd);
      row.append(term, text);
      return row;
    }),
  );
  sheet.querySelector("[data-keys-switch]").checked = !isOff();
  sheet.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-move], [data-opens]");
  if (button?.dataset.move) move(Number(button.dataset.move));
  if (button?.dataset.opens) openSheet(document.getElementById(button.dataset.opens));
});

document.addEventListener("keydown", (event) => {
  if (isOff() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const target = carriers().find((element) => element.dataset.key === event.key);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input")) target.focus();
  else target.click();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-keys-switch]")) return;
  try { localStorage.setItem(OFF, event.target.checked ? "0" : "1"); } catch { /* private mode */ }
  showBadges();
});

showBadges();
document.addEventListener("htmx:afterSettle", showBadges);
