// For Chromium (media.js) and Firefox (test_media.py).
'use strict';

// Returns when the media element has data of a time close to the end.
function seekToTheEnd(element) {
  return new Promise((resolve, reject) => {
    element.muted = true;
    const fail = () => reject(new Error(`media error: ${element.error?.message}`));
    const seek = () => {
      element.addEventListener('seeked', () => resolve({
        duration: element.duration, time: element.currentTime, ready: element.readyState }));
      element.currentTime = element.duration - 1;
    };
    element.addEventListener('error', fail);
    if (element.error) fail();
    if (element.readyState >= HTMLMediaElement.HAVE_METADATA) seek();
    else element.addEventListener('loadedmetadata', seek);
  });
}

if (typeof module !== 'undefined') module.exports = seekToTheEnd;
