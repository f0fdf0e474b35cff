// Small conveniences; every page works without them.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-autosubmit]")) event.target.form.requestSubmit();
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
