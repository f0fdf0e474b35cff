// What was sent when the session had ended already: this tab keeps it through the login, for the same person alone.
const KEPT = "novamem.draft";
const LASTS = 3_600_000; // milliseconds
const TEXTS = ["text", "search", "number", "date", "checkbox", "radio"].map((type) => `[type=${type}]`).join();
const TYPED = `form[method=post] :is(textarea, select, input:not([type]), input:is(${TEXTS}))`;

const person = () => document.body.dataset.person;
const here = () => location.pathname + location.search;
const typed = () => [...document.querySelectorAll(TYPED)].filter((field) => field.name && !field.readOnly);
const isPicked = (field) => field.type === "checkbox" || field.type === "radio";
const nameOf = (field) => [field.form.getAttribute("action"), field.name, isPicked(field) ? field.value : ""].join("\n");

function isChanged(field) {
  if (isPicked(field)) return field.checked !== field.defaultChecked;
  if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

function keep() {
  const fields = typed().filter(isChanged).map((field) => [nameOf(field), isPicked(field) ? field.checked : field.value]);
  if (!fields.length) return sessionStorage.removeItem(KEPT);
  sessionStorage.setItem(KEPT, JSON.stringify({ person: person(), page: here(), fields, at: Date.now() }));
}

function fill(fields) {
  const values = new Map(fields);
  const found = typed().filter((field) => values.has(nameOf(field)));
  for (const field of found) {
    field[isPicked(field) ? "checked" : "value"] = values.get(nameOf(field));
    for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  }
  if (!found.length) return;
  const strip = document.createElement("p");
  strip.className = "strip";
  strip.setAttribute("role", "status");
  strip.textContent = "Your session had ended: nothing was sent. What you typed is here again.";
  found[0].form.prepend(strip);
}

// The login tells that what was sent did not arrive; any other page that it did.
function resume() {
  const draft = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  if (!draft) return;
  if (!person()) {
    sessionStorage.setItem(KEPT, JSON.stringify({ ...draft, interrupted: true }));
    return;
  }
  const isTheirs = draft.interrupted && draft.person === person() && Date.now() - draft.at < LASTS;
  if (isTheirs && draft.page !== here()) return; // the second factor comes first
  sessionStorage.removeItem(KEPT);
  if (isTheirs) fill(draft.fields);
}

document.addEventListener("submit", (event) => {
  if (person() && event.target.method === "post") keep();
}, true);
document.addEventListener("htmx:afterRequest", (event) => {
  const leaves = event.detail.xhr.getResponseHeader("HX-Redirect");
  if (event.detail.requestConfig.verb === "post" && event.detail.successful && !leaves) sessionStorage.removeItem(KEPT);
});
document.addEventListener("DOMContentLoaded", resume);
