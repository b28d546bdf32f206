// Finds and creates elements of the page.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

export function option(value, textContent, selected) {
  return element('option', {value, textContent, selected});
}

export function picker(label, options, choose) {
  const select = element('select', {}, ...options);
  select.addEventListener('change', () => choose(Number(select.value)));
  return element('label', {className: 'picker'}, `${label} `, select);
}

export function tableOf(caption, titles, rows) {
  return element('table', {},
    element('caption', {textContent: caption}),
    element('thead', {}, element('tr', {}, ...titles.map((title) =>
      element('th', {scope: 'col', textContent: title})))),
    element('tbody', {}, ...rows));
}

export const cssValue = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
