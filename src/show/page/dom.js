// Finds and creates elements of the page.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

export const option = (value, textContent, selected) =>
  element('option', {value, textContent, selected});

export function picker(label, options, choose) {
  const onchange = ({target}) => choose(Number(target.value));
  return element('label', {className: 'picker'}, `${label} `,
    element('select', {onchange}, ...options));
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
