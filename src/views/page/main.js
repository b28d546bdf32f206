// Loads the page's data and opens the page.
import {loadData} from './data.js';
import {byId, element} from './dom.js';
import {openPage} from './open.js';

function showFailure(error) {
  byId('stage').replaceChildren(element('p', {className: 'hint', role: 'alert',
    textContent: `This page’s data cannot be read: ${error.message}`}));
}

loadData().then(openPage, showFailure);
