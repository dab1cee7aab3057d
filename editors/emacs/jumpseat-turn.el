;;; jumpseat-turn.el --- Turns of chats and edits  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `chat/start' and `edit/start', with their deltas delivered once per frame.
;; Turns are stopped by their own ids, because jsonrpc.el hides the ids of
;; requests.

;;; Code:

(require 'jumpseat-rpc)

(defconst jumpseat-turn--frame 0.016 "One frame at 60 Hz, in seconds.")

(cl-defstruct (jumpseat--turn (:constructor jumpseat-turn--make) (:copier nil))
  id
  on-deltas                  ; called with lists of deltas, once a frame at most
  on-end                     ; called once; see `jumpseat--turn-start'
  (queued nil)               ; deltas, the last one first
  (timer nil)
  (ended nil)
  (stopped nil))

(defvar jumpseat-turn--running nil "The running turns.")
(defvar jumpseat-turn--count 0 "The number of turns so far.")

(defun jumpseat-turn--flush (turn)
  "Deliver the queued deltas of TURN."
  (when-let ((timer (jumpseat--turn-timer turn)))
    (cancel-timer timer)
    (setf (jumpseat--turn-timer turn) nil))
  (when-let ((deltas (nreverse (jumpseat--turn-queued turn))))
    (setf (jumpseat--turn-queued turn) nil)
    (funcall (jumpseat--turn-on-deltas turn) deltas)))

(defun jumpseat-turn--queue (id delta)
  "Queue DELTA for the turn with this ID."
  (when-let ((turn (seq-find (lambda (each) (equal (jumpseat--turn-id each) id))
                             jumpseat-turn--running)))
    (push delta (jumpseat--turn-queued turn))
    (unless (jumpseat--turn-timer turn)
      (setf (jumpseat--turn-timer turn)
            (run-at-time jumpseat-turn--frame nil #'jumpseat-turn--flush turn)))))

(jumpseat--inbox-on 'chat/delta
                  (lambda (params)
                    (jumpseat-turn--queue (plist-get params :turnId) (plist-get params :delta))))
(jumpseat--inbox-on '$/progress
                  (lambda (params)
                    (jumpseat-turn--queue (plist-get params :token)
                                          (append '(:type "progress") (plist-get params :value)))))

(defun jumpseat-turn--finish (turn err result)
  "End TURN with ERR or RESULT."
  (unless (jumpseat--turn-ended turn)
    (setf (jumpseat--turn-ended turn) t)
    (setq jumpseat-turn--running (delq turn jumpseat-turn--running))
    ;; End the turn even if its last deltas cannot be shown.
    (unwind-protect (jumpseat-turn--flush turn)
      (funcall (jumpseat--turn-on-end turn)
               (list :error err :result result
                     :cancelled (eql (plist-get err :code) -32800))))))

(defun jumpseat--turn-start (method params on-deltas on-end)
  "Start a turn with the request METHOD and PARAMS, and return the turn.
ON-DELTAS is called with lists of deltas, which include the values of
`$/progress' with the type \"progress\".  ON-END is called once with a property
list: :error or :result, and :cancelled."
  (let* ((id (format "emacs-%d-%.6f-%d" (emacs-pid) (float-time)
                     (setq jumpseat-turn--count (1+ jumpseat-turn--count))))
         (turn (jumpseat-turn--make :id id :on-deltas on-deltas :on-end on-end)))
    (push turn jumpseat-turn--running)
    (jumpseat--rpc-request method (append (list :turnId id :workDoneToken id) params)
                           (lambda (err result) (jumpseat-turn--finish turn err result)))
    turn))

(defun jumpseat--turn-stop (turn)
  "Stop TURN.  The text received so far stays."
  (unless (or (jumpseat--turn-ended turn) (jumpseat--turn-stopped turn))
    (setf (jumpseat--turn-stopped turn) t)
    (jumpseat--rpc-request "chat/cancel" (list :turnId (jumpseat--turn-id turn))
                           (lambda (err answer)
                             (unless (or err (jumpseat--true-p (plist-get answer :cancelled)))
                               (setf (jumpseat--turn-stopped turn) nil))))))

(defun jumpseat--turn-decide (turn id decision callback &rest more)
  "Send DECISION, \"allow\" or \"deny\", about the tool call ID of TURN.
CALLBACK is as for `jumpseat--rpc-request', and MORE are further params."
  (jumpseat--rpc-request
   "tools/decide"
   (append (list :turnId (jumpseat--turn-id turn) :toolUseId id :decision decision) more)
   callback))

(provide 'jumpseat-turn)
;;; jumpseat-turn.el ends here
