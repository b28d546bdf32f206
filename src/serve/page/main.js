// Opens the page of `headlight serve`.
import {openPage} from './open.js';

openPage();
