// Opens the page with the data in its element `attention`.
import {byId} from './dom.js';
import {openPage} from './open.js';

const holder = byId('attention');
holder.remove();  // only the parsed copy is needed
openPage(JSON.parse(holder.textContent));
