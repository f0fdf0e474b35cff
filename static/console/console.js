// What else fails in the background is said in one strip, which stays until it is closed or something is asked anew.
const UNREACHED = ["The server can’t be reached", "It is not known whether anything was done. Look before you repeat it."];
const FAILED = ["This did not work", "Load the page again, and look before you repeat it."];

function said(xhr) {
  const card = new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("main.card");
  return card ? [card.querySelector("h1")?.textContent, card.querySelector("p")?.textContent] : FAILED;
}

function fail([title, detail], request = "") {
  const [strip, text, strong, close] = ["p", "span", "strong", "button"].map((tag) => document.createElement(tag));
  strip.className = "strip strip-bad";
  strong.textContent = `${title}.`;
  text.append(strong, ` ${detail}`, request && ` Request ${request}`);
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => strip.remove());
  strip.append(text, close);
  document.getElementById("failure")?.replaceChildren(strip);
}

document.addEventListener("htmx:responseError", (event) => {
  const xhr = event.detail.xhr;
  if (xhr.status !== 409) fail(said(xhr), xhr.getResponseHeader("X-Request-Id") ?? "");
});
for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => fail(UNREACHED));
// What was done last is said alone: the strip of a page goes once something else is done in the background.
document.addEventListener("htmx:afterRequest", (event) => {
  const isDone = event.detail.requestConfig.verb === "post" && event.detail.successful;
  if (isDone && !event.detail.elt.closest("#undo")) document.getElementById("undo")?.remove();
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.requestConfig.triggeringEvent) document.getElementById("failure")?.replaceChildren();
});

// Small conveniences; every page works without them.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-autosubmit]")) event.target.form.requestSubmit();
});

// A slider over the days before the last that a date may have.
document.addEventListener("input", (event) => {
  const date = document.getElementById(event.target.dataset.daysOf);
  if (date) date.valueAsNumber = Date.parse(date.min) + event.target.valueAsNumber * 86_400_000;
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

// The menu closes on Escape, with the focus on its button, and by a click elsewhere.
const openMenu = () => document.querySelector(".more-nav[open]");
document.addEventListener("click", (event) => {
  if (!event.target.closest(".more-nav")) openMenu()?.removeAttribute("open");
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && openMenu();
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// The list stays when a memory is opened beside it: mark the row that the address names.
document.addEventListener("htmx:pushedIntoHistory", () => {
  for (const row of document.querySelectorAll("[data-row]")) {
    row.toggleAttribute("aria-current", row.pathname === location.pathname);
    if (row.pathname === location.pathname) row.setAttribute("aria-current", "true");
  }
  if (!matchMedia("(max-width: 1099px)").matches) return;
  window.scrollTo(0, 0);
  if (document.querySelector(".detail-head")) document.getElementById("detail").focus({ preventScroll: true });
});
