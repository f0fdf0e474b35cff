// The keyboard: whatever carries data-key shows its key and answers to it; "g r" is one after the other. Off while
// typing, and by a switch.
const OFF = "keys-off";
const PATIENCE = 1500; // ms between the two of "g r"
let begun = "", timer = 0;
const isOff = () => { try { return localStorage.getItem(OFF) === "1"; } catch { return false; } };
const isTyping = (element) => element.matches?.("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]");
const carriers = () => [...document.querySelectorAll("[data-key]")];
const shown = (key) => key.replace(/^[A-Z]$/, (letter) => `⇧${letter}`);
const isThere = (element) => element.closest(".more-nav, .movers") !== null || element.checkVisibility?.() !== false;

function badge(element) {
  if (element.dataset.badged) return;
  element.dataset.badged = "1";
  const kbd = document.createElement("kbd");
  kbd.dataset.shown = shown(element.dataset.key); // drawn, not written: the name of a button is its words
  kbd.setAttribute("aria-hidden", "true");
  if (element.matches("input")) element.after(kbd);
  else element.append(kbd);
  element.setAttribute("aria-keyshortcuts", element.dataset.key);
}

function showBadges() {
  carriers().forEach(badge);
  document.querySelectorAll("[data-badged] kbd, [data-badged] + kbd").forEach((kbd) => (kbd.hidden = isOff()));
}

const rows = () => [...document.querySelectorAll("[data-row]")];
const focused = () => document.activeElement?.closest("[data-row]");
const current = () => rows().find((row) => row.hasAttribute("aria-current"));
const chosen = () => focused() ?? current();

let asked = null; // the last form that was sent: while it is under way (opened, not done), no key acts on a form
const isBusy = () => asked !== null && asked.readyState > 0 && asked.readyState < 4;
document.addEventListener("htmx:beforeSend", (event) => {
  if (event.detail.requestConfig.verb === "post") asked = event.detail.xhr;
});

// With `opens`, what is focused is opened too: a key then decides what the eye is on.
function move(step, opens) {
  if (opens && isBusy()) return;
  const all = rows();
  const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(chosen()) + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  if (opens && !next?.hasAttribute("aria-current")) next?.click();
}

// Whether the focus stands on a row beside which another one is open: no key decides on that one.
const isBeside = (target) => Boolean(target.closest(".compare form.decision") && focused()?.matches("a:not([aria-current])"));

function pick() {
  const box = (chosen() ?? rows()[0])?.parentElement.querySelector("input[type=checkbox]");
  if (box) box.checked = !box.checked;
}

function openSheet(sheet) {
  const list = sheet.querySelector("[data-keys-list]");
  const first = carriers().filter(isThere).reverse().map((element) => [element.dataset.key, element]);
  const known = [...new Map(first).values()].reverse(); // of those that share a key, the first speaks
  const told = known.map((element) => [shown(element.dataset.key), element.dataset.keyName ?? element.getAttribute("aria-label")]);
  list.replaceChildren(
    ...[...told, ...(rows().some((row) => row.matches("a")) ? [["Enter", "Open the focused memory"]] : [])].map(([key, label]) => {
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
  const button = event.target.closest("[data-move], [data-opens], [data-pick]");
  if (button?.dataset.move) move(Number(button.dataset.move), "open" in button.dataset);
  if (button?.dataset.opens) openSheet(document.getElementById(button.dataset.opens));
  if (button && "pick" in button.dataset) pick();
});

function wait(first) {
  begun = first;
  clearTimeout(timer);
  timer = setTimeout(() => (begun = ""), PATIENCE);
}

document.addEventListener("keydown", (event) => {
  if (isOff() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const pressed = begun ? `${begun} ${event.key}` : event.key;
  const known = carriers().filter(isThere);
  const alike = known.filter((element) => element.dataset.key === pressed);
  const target = alike.find((element) => focused()?.contains(element)) ?? alike[0];
  if (!target && !begun && known.some((element) => element.dataset.key.startsWith(`${pressed} `))) return wait(pressed);
  begun = "";
  if (!target) return;
  event.preventDefault();
  if (event.repeat && !target.dataset.move) return; // a key that is held acts once
  if (target.closest("form") && isBusy()) return;
  if (isBeside(target)) return focused().click();
  if (target.matches("input:not([type=checkbox])")) target.focus();
  else target.click();
  if (target.dataset.focus) document.getElementById(target.dataset.focus)?.focus();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-keys-switch]")) return;
  try { localStorage.setItem(OFF, event.target.checked ? "0" : "1"); } catch { /* private mode */ }
  showBadges();
});

// Who decides in a row of a list goes on with the row that takes its place, or with what the form names.
let place = -1, then = "";
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.target.closest("form");
  place = form ? rows().indexOf(form.closest("[data-row]")) : -1;
  then = form?.dataset.then ?? "";
});

function goOn() {
  const next = document.getElementById(then) ?? (place < 0 ? null : rows()[Math.min(place, rows().length - 1)]);
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: next.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
  [place, then] = [-1, ""];
}

// A row that was skipped, or came back, keeps the focus although another one is open now: the next "j" starts there.
function followOpened() {
  if (focused()?.matches(".queue a:not([aria-current])")) current()?.focus({ preventScroll: true });
}

// What a person clicked or sent may be gone with the swap: then the focus goes to what was opened, not to the page's beginning.
function keepFocus(event) {
  const asked = event.detail.requestConfig?.triggeringEvent?.type;
  if (document.activeElement !== document.body || !["click", "submit"].includes(asked)) return;
  (document.getElementById("compare") ?? document.getElementById("main"))?.focus({ preventScroll: true });
}

showBadges();
document.addEventListener("htmx:afterSettle", (event) => {
  showBadges();
  goOn();
  followOpened();
  keepFocus(event);
});
// A refusal is an answer too: its page takes the old one's place.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 409) event.detail.shouldSwap = true;
});
