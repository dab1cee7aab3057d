;;; driver.el --- Lets the tests see into an Emacs  -*- lexical-binding: t; -*-
;;; Commentary:
;; A socket that evaluates forms.  Each line from the client is a form, in Base64; each answer is a
;; line of JSON: a list of t and the value, or of null and the error.
;;; Code:
(require 'json)

(defun driver-value (value)
  "Return VALUE in a form for `json-encode': property lists with keywords are objects."
  (cond ((or (stringp value) (numberp value) (eq value t) (null value)) value)
        ((vectorp value) (vconcat (mapcar #'driver-value value)))
        ((and (proper-list-p value) (keywordp (car value)))
         (let (pairs)
           (while value
             (push (cons (substring (symbol-name (pop value)) 1) (driver-value (pop value))) pairs))
           (nreverse pairs)))
        ((proper-list-p value) (vconcat (mapcar #'driver-value value)))
        ((eq value :json-false) :json-false)
        (t (format "%S" value))))

(defun driver-answer (process line)
  "Evaluate LINE of the client PROCESS in the selected window, and answer."
  (let ((answer
         (condition-case failure
             (with-current-buffer (window-buffer (selected-window))
               (vector t (driver-value
                          (eval (read (decode-coding-string (base64-decode-string line) 'utf-8))
                                t))))
           (error (vector nil (error-message-string failure))))))
    (process-send-string process (concat (json-encode answer) "\n"))))

(defun driver-filter (process text)
  "Handle TEXT from the client PROCESS."
  (let ((received (concat (process-get process 'received) text)))
    (while (string-match "\n" received)
      (let ((line (substring received 0 (match-beginning 0))))
        (setq received (substring received (match-end 0)))
        (driver-answer process line)))
    (process-put process 'received received)))

(defun driver-messages ()
  "Return the messages that jumpseat has shown."
  (with-current-buffer (messages-buffer)
    (save-excursion
      (goto-char (point-min))
      (let (found)
        ;; A message that is repeated is one line, "text [2 times]".
        (while (re-search-forward "^jumpseat: \\(.*\\)$" nil t) (push (match-string 1) found))
        (nreverse found)))))

(defvar driver-sent nil "Whether a chat was sent or refused.")

(with-eval-after-load 'jumpseat-anywhere
  (advice-add 'jumpseat-send :after (lambda (&rest _) (setq driver-sent t))))

(make-network-process :name "driver" :server t :family 'local :service (getenv "DRIVER_SOCKET")
                      :noquery t :coding 'utf-8 :filter #'driver-filter)
;;; driver.el ends here
