// Tooltip beside the pointer.
import {byId, element} from './dom.js';

function moveTip(event) {
  const tip = byId('tip');
  const {width, height} = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 16, innerWidth - width - 8);
  const y = event.clientY + 20 + height > innerHeight ? event.clientY - height - 14
                                                      : event.clientY + 20;
  tip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
}

export function showTip(event, small, ...content) {
  const tip = byId('tip');
  tip.replaceChildren(...content, element('small', {textContent: small}));
  tip.hidden = false;
  moveTip(event);
}

export const hideTip = () => { byId('tip').hidden = true; };
