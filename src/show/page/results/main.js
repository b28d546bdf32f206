// Opens a page of results.
import {byId} from '../dom.js';
import {hideTip} from '../tip.js';
import {enlivenGraph} from './graph.js';
import {buildGrid} from './grid.js';

const results = JSON.parse(byId('data').textContent);
byId('grids').append(...results.grids.map(buildGrid));
enlivenGraph(byId('graph'));
addEventListener('scroll', hideTip, {passive: true});
document.documentElement.dataset.ready = Math.round(performance.now());
