;;; jumpseat-anywhere.el --- Send text from any buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Sends the region, or the text before point, of any buffer, and writes the
;; answer below that text, or into the kill ring, the echo area, another buffer
;; or a chat.

;;; Code:

(require 'jumpseat-api)
(require 'jumpseat-ask)

(defconst jumpseat--anywhere-destinations
  '(("point" point "below the text, in this buffer") ("kill ring" kill-ring "to be yanked")
    ("echo area" echo-area "or a window, if it is long") ("buffer" buffer "at the end of another buffer")
    ("chat" chat "ask in the last chat"))
  "The places for an answer: a name, a symbol and a note.")

(defvar-local jumpseat-anywhere--requests nil
  "The running requests of this buffer, the newest first.")

(cl-defstruct (jumpseat-anywhere--sink (:constructor jumpseat-anywhere--make-sink) (:copier nil))
  writer                     ; writes the answer into a buffer, or is nil
  callback                   ; nil, or a function to call with the whole text
  (lead "")                  ; the text between the question and the answer
  (note nil))                ; the overlay that shows that the answer is awaited

(defun jumpseat-anywhere--write-at (position)
  "Return a sink that writes at POSITION of this buffer, after a blank line."
  (jumpseat-anywhere--make-sink
   :writer (jumpseat--writer-new position)
   :lead (save-excursion
           (goto-char position)
           (make-string (max 0 (+ 2 (skip-chars-backward "\n"))) ?\n))
   :note (jumpseat--view-show-below position "waiting for the answer …" 'jumpseat-note)))

(defun jumpseat-anywhere--open (destination position)
  "Return a sink that puts the answer in DESTINATION.
DESTINATION is a symbol of `jumpseat--anywhere-destinations', or `start'.  For
`start' and `point', the answer is written at POSITION of this buffer."
  (pcase destination
    ('kill-ring
     (jumpseat-anywhere--make-sink
      :callback (lambda (text)
                  (kill-new text)
                  (jumpseat--say "The answer is in the kill ring."))))
    ;; At the start of the buffer, no blank line must precede the answer.
    ('start
     (barf-if-buffer-read-only)
     (let ((sink (jumpseat-anywhere--write-at position)))
       (setf (jumpseat-anywhere--sink-lead sink) "")
       sink))
    ('echo-area
     (jumpseat-anywhere--make-sink
      :callback (lambda (text) (display-message-or-buffer text "*jumpseat answer*"))))
    ('buffer
     (with-current-buffer (get-buffer-create (read-buffer "Answer in buffer: " "*jumpseat answer*"))
       (display-buffer (current-buffer))
       (jumpseat-anywhere--write-at (point-max))))
    (_
     (barf-if-buffer-read-only)
     (jumpseat-anywhere--write-at position))))

(defun jumpseat-anywhere--forget-note (sink)
  "Remove the note in SINK about the awaited answer."
  (when (jumpseat-anywhere--sink-note sink)
    (delete-overlay (jumpseat-anywhere--sink-note sink))
    (setf (jumpseat-anywhere--sink-note sink) nil)))

(defun jumpseat-anywhere--write (sink request delta)
  "Write DELTA of REQUEST to SINK.
Stop REQUEST if the user has deleted or undone the text."
  (when-let ((writer (jumpseat-anywhere--sink-writer sink)))
    (cond
     ((not (jumpseat--writer-live-p writer))
      (jumpseat-request-stop request))
     ((equal "text_delta" (plist-get delta :type))
      (unless (jumpseat--writer-chunks writer)
        (jumpseat-anywhere--forget-note sink)
        (jumpseat--writer-append writer (jumpseat-anywhere--sink-lead sink)))
      (jumpseat--writer-append writer (plist-get delta :text)))
     ;; The provider has started its answer again.
     ((and (equal "response" (plist-get delta :type)) (jumpseat--writer-chunks writer))
      (jumpseat--writer-replace writer (jumpseat-anywhere--sink-lead sink))))))

(defun jumpseat-anywhere--finish (sink text info)
  "End SINK with the answer's TEXT; INFO is as in `jumpseat-request'."
  (jumpseat-anywhere--forget-note sink)
  (when (jumpseat-anywhere--sink-writer sink)
    (jumpseat--writer-close (jumpseat-anywhere--sink-writer sink)))
  (cond ((plist-get info :error) (jumpseat--say "%s" (plist-get info :error)))
        ((eq 'stopped (plist-get info :status)) (jumpseat--say "The answer was stopped."))
        ((string-empty-p (or text "")) (jumpseat--say "The model returned no text."))
        ((jumpseat-anywhere--sink-callback sink)
         (funcall (jumpseat-anywhere--sink-callback sink) text))))

(defun jumpseat--anywhere-stop ()
  "Stop the newest request of this buffer, and return whether there was one."
  (when-let ((request (car jumpseat-anywhere--requests)))
    (jumpseat-request-stop request)
    t))

(defun jumpseat--anywhere-request (text destination position &rest keys)
  "Send TEXT from this buffer, and put the answer in DESTINATION at POSITION.
KEYS are further keys of `jumpseat-request'."
  (let ((sink (jumpseat-anywhere--open destination position))
        (buffer (current-buffer))
        request)
    (setq request
          (apply #'jumpseat-request text :keep jumpseat-keep
                 :on-event (lambda (delta) (jumpseat-anywhere--write sink request delta))
                 :callback (lambda (answer info)
                             (when (buffer-live-p buffer)
                               (with-current-buffer buffer
                                 (setq jumpseat-anywhere--requests
                                       (delq request jumpseat-anywhere--requests))))
                             (jumpseat-anywhere--finish sink answer info))
                 keys))
    (push request jumpseat-anywhere--requests)))

(defun jumpseat--anywhere-find-text ()
  "Return a cons of the text to send and the position of its end.
The text is the region, or else everything before point."
  (let* ((bounds (or (jumpseat--region-active) (list (point-min) (point))))
         (text (apply #'buffer-substring-no-properties bounds)))
    (when (string-blank-p text) (user-error "There is no text before point to send"))
    (cons text (cadr bounds))))

(defun jumpseat--anywhere-send (destination)
  "Send the region, or the text before point, and put the answer in DESTINATION.
DESTINATION is a symbol of `jumpseat--anywhere-destinations'."
  (pcase-let ((`(,text . ,end) (jumpseat--anywhere-find-text)))
    (deactivate-mark)
    (if (eq destination 'chat) (jumpseat-ask text)
      (jumpseat--anywhere-request text destination end))))

(defun jumpseat-send (&optional choose)
  "Send this chat or, outside of chats, the region or the text before point.
Outside of chats, the answer is written below that text.  With a prefix argument
CHOOSE, select another place for the answer: the kill ring, the echo area,
another buffer or a chat."
  (interactive "P")
  (cond (jumpseat-chat-mode
         (barf-if-buffer-read-only)
         (jumpseat--send-start))
        (choose
         (jumpseat--ui-offer "Answer" jumpseat--anywhere-destinations #'jumpseat--anywhere-send))
        (t (jumpseat--anywhere-send 'point))))

(provide 'jumpseat-anywhere)
;;; jumpseat-anywhere.el ends here
