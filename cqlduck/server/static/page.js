// Parts of a page that move are fetched again while somebody looks at it.

const shown = new Map();

async function refresh(part) {
  const said = document.getElementById("gone");
  try {
    const answer = await fetch(part.dataset.refresh);
    said.hidden = answer.ok;
    if (!answer.ok) {
      said.textContent = `the server says ${answer.status}`;
      return;
    }
    const text = await answer.text();
    // what somebody has selected stays
    if (document.getSelection().isCollapsed && shown.get(part) !== text) {
      part.innerHTML = text;
      shown.set(part, text);
    }
    part.dataset.fetched = Number(part.dataset.fetched ?? 0) + 1;
  } catch {
    said.textContent = "the server has stopped";
    said.hidden = false;
  }
}

async function keepUp(part) {
  if (!document.hidden) {
    await refresh(part);
  }
  setTimeout(keepUp, 1000 * part.dataset.seconds, part);
}

for (const part of document.querySelectorAll("[data-refresh]")) {
  setTimeout(keepUp, 1000 * part.dataset.seconds, part);
}

// A box of the picture opens the statements of its operator.
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

addEventListener("hashchange", unfold);
unfold();
