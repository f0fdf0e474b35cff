// Before the first paint: says that scripts run, and applies the theme that was chosen here.
const root = document.documentElement;
const THEMES = ["system", "light", "dark"];
const stored = () => { try { return localStorage.getItem("theme") || "system"; } catch { return "system"; } };
const apply = (theme) => (theme === "system" ? delete root.dataset.theme : (root.dataset.theme = theme));

root.classList.add("js");
apply(stored());

const label = (button) => {
  button.setAttribute("aria-label", `Theme: ${stored()}`);
  button.title = `Theme: ${stored()}`;
};
document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-theme-switch]").forEach(label));
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-theme-switch]");
  if (!button) return;
  const next = THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length];
  try { localStorage.setItem("theme", next); } catch { /* private mode: for this page only */ }
  apply(next);
  label(button);
});
